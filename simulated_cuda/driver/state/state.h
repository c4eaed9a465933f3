// SPDX-License-Identifier: Apache-2.0
// Everything the simulated driver knows: devices, contexts, streams, events and the tables of live
// objects. One State per process, made on the first driver call and never destroyed (destructors of
// statics still free memory). Invariant: read and written only with the driver lock held; entry.h
// sees to that. Contexts are never deleted, so a stale context handle is recognised; everything
// else is valid exactly while its table holds it.
#pragma once

#include "simulated_cuda/driver/code/jit_log.h"
#include "simulated_cuda/driver/execution/device_heap.h"
#include "simulated_cuda/driver/state/block.h"
#include "simulated_cuda/driver/state/device.h"
#include "simulated_cuda/driver/state/handles.h"
#include "simulated_cuda/driver/state/node_memory.h"
#include "simulated_cuda/driver/state/settings.h"
#include "simulated_cuda/driver/streams/graph.h"
#include "simulated_cuda/executor/machine/memory.h"
#include "simulated_cuda/executor/machine/textures/texture.h"

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace gmt::sim {

struct Capture;
struct Library;

struct Stream {
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  bool is_legacy = false;
  unsigned pending_host_functions = 0;
  Capture* capture = nullptr;
  std::vector<GraphNode*> capture_tail; // what the next captured operation depends on
  std::map<int, CUstreamAttrValue> attributes;
  std::chrono::steady_clock::time_point last_copy{};
};

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point time{};
  Stream* stream = nullptr;
  Capture* capture = nullptr; // recorded inside this capture
  std::vector<GraphNode*> capture_point;
  std::uint64_t late_record = 0; // that simulated_cuda/driver/streams/late.h may still keep
};

// One capture in progress; several streams may have joined it.
struct Capture {
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  Stream* origin = nullptr;
  pid_t thread = 0;
  bool invalidated = false;
  Graph* graph = nullptr;
  bool owns_graph = true;               // false: cuStreamBeginCaptureToGraph
  std::vector<CUgraphNode> handles_out; // what cuStreamGetCaptureInfo last returned
};

struct Context {
  Device* device = nullptr;
  bool primary = false;
  bool alive = false;
  unsigned flags = 0;
  unsigned api_version = 0;
  std::uint64_t id = 0;
  CUresult sticky = CUDA_SUCCESS;
  std::map<int, std::size_t> limits;
  CUfunc_cache cache_config = CU_FUNC_CACHE_PREFER_NONE;
  CUsharedconfig shared_config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
  std::unique_ptr<Stream> legacy;
  std::map<pid_t, std::unique_ptr<Stream>> per_thread;
  std::map<Context*, bool> peers;
  bool heap_in_use = false;
  std::unique_ptr<ContextHeap> heap;
  std::uint64_t grids = 0; // launches so far

  // Whether its kernels and sets may: memory of another device has to be opened to it.
  bool may_use(const Block& block) const;
};

struct Array {
  Context* context = nullptr;
  std::uint64_t id = 0; // no other array ever has it, as it may have the address
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  CUdeviceptr memory = 0; // 0: sparse
  std::size_t bytes = 0;
  std::size_t element = 0;
  bool is_level = false; // a view into a mipmapped array or a plane: has no memory of its own
  std::vector<Array*> planes;
};

struct MipmappedArray {
  Context* context = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  std::vector<Array*> levels;
};

struct Texture {
  Context* context = nullptr;
  unsigned long long number = 0; // its CUtexObject or CUsurfObject
  bool surface = false;
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC texture{};
  CUDA_RESOURCE_VIEW_DESC view{};
  std::uint64_t memory_id = 0; // Array::id, of mipmapped arrays that of the first level
  executor::Texture view_of_kernels;
};

struct ExternalMemory {
  ~ExternalMemory();
  Context* context = nullptr;
  int file = -1;
  std::size_t bytes = 0;
};

struct VmmHandle {
  Device* device = nullptr;
  CUdeviceptr memory = 0; // 0: imported
  std::size_t bytes = 0;
  int own_file = -1; // where it lies if it can be shared; else in the device's memory
  CUmemAllocationProp prop{};
  unsigned references = 1;
  unsigned mappings = 0;
  bool was_accessible = false; // a kernel or a copy may have written it
};

// What cuLinkCreate makes: PTX that was added, and the code that cuLinkComplete handed out.
struct LinkState {
  std::vector<std::string> texts;
  std::vector<std::byte> code;
  JitLog log;
};

struct Reservation {
  std::size_t bytes = 0;
  void* window_map = nullptr;
  std::size_t map_bytes = 0;
  std::byte* alias = nullptr;
};

struct State {
  State();
  std::uint64_t new_id() { return next_id++; }
  Device* device(CUdevice ordinal);
  Context* context(CUcontext handle);

  Settings settings;
  NodeMemory nodes;
  executor::Memory memory{nodes.resource()}; // as kernels see it
  BlockTable blocks{nodes.resource(), memory};
  std::atomic<bool> initialized{false};
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Context>> contexts;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Pool> pools;
  Handles<Array> arrays;
  Handles<MipmappedArray> mipmapped;
  Handles<Texture> textures;
  // By number; those whose context has ended are in this one alone
  std::unordered_map<unsigned long long, Texture*> numbered_textures;
  unsigned long long last_texture = 0;
  Handles<VmmHandle> vmm_handles;
  Handles<ExternalMemory> external_memory;
  std::map<CUdeviceptr, Reservation> reservations;
  Handles<Library> libraries;
  Handles<LinkState> links;
  Handles<Graph> graphs;
  Handles<GraphExec> execs;
  std::unordered_map<CUgraphConditionalHandle, std::weak_ptr<Condition>> conditions;
  CUgraphConditionalHandle last_condition = 0;
  Handles<UserObject> user_objects;
  Handles<Capture> captures;
  std::uint64_t launches = 0;
  std::uint64_t next_id = 1;
};

State& state();

// What belongs to the calling thread.
struct ThreadState {
  static constexpr int kMaxContexts = 24;
  Context* contexts[kMaxContexts];
  int depth;
  pid_t id;
  bool in_host_function;   // the driver's own thread, inside a callback
  bool per_thread_default; // during a _ptds or _ptsz call: stream 0 is the thread's own
  CUstreamCaptureMode capture_mode;
  unsigned row;            // of exports.cpp: the call that the thread is in
  bool runs_late;          // what another call has left, by simulated_cuda/driver/streams/late.h
  std::uint64_t late_call; // that call, as observed_call() gave it
  bool late_in_range;      // whether that call was in the range of --range

  Context* current() const { return depth == 0 ? nullptr : contexts[depth - 1]; }
};

ThreadState& this_thread();

inline Device& current_device() { return *this_thread().current()->device; }

// The pool behind a handle: one of the table's that is not destroyed, or a device's default pool.
// pool_api.cpp.
Pool* find_pool(CUmemoryPool handle);

// Frees what a context's end frees: its allocations, arrays, modules, streams, events; not pools
// and not VMM.
void end_context(Context* context);
// What the context has for a limit, whether it was set or not.
CUresult limit_of(const Context& context, CUlimit limit, std::size_t* value);

// Returns the memory of a block to where it came from and forgets the block.
void release_block(Block& block);

} // namespace gmt::sim
