// SPDX-License-Identifier: Apache-2.0
// The executor of PTX: code is loaded as a Module, and run() executes one launch of a kernel of it
// over a Memory, checking every access of every thread. It allocates no device memory: its user
// chooses the addresses of variables and of the device heap, and keeps the Memory's states right
// for copies and sets. Invariants: no function here throws; no PTX, however damaged, harms the
// process; a kernel reaches host memory only through regions of the Memory. A Module may be used by
// one thread at a time.
#pragma once

#include "simulated_cuda/executor/machine/memory.h"
#include "simulated_cuda/executor/machine/textures/texture.h"
#include "simulated_cuda/executor/machine/traffic.h"
#include "simulated_cuda/executor/machine/used_rows.h"
#include "simulated_cuda/executor/report.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gmt::executor {

class TrafficCounter;
class LaunchTree;
struct PrimaryLaunch;

struct Parameter {
  std::size_t offset = 0;
  std::size_t size = 0;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t shared_bytes = 0;     // static shared memory, of functions that it calls too
  std::size_t local_bytes = 0;      // of its own frame
  std::size_t constant_bytes = 0;   // of the module's constants
  std::uint32_t max_threads = 0;    // .maxntid or .reqntid as a product; 0: not said
  Extent required_block{0, 0, 0};   // .reqntid; 0: not said
  Extent required_cluster{0, 0, 0}; // .reqnctapercluster; 0: not said
};

struct Variable {
  std::string name;
  std::size_t size = 0;
  std::size_t alignment = 1;
  bool constant = false;
  bool managed = false;
  bool is_named = true;     // its name means it; false: one of several files' own of that name
  bool has_initial = false; // false: zeros
};

// The code of one program or library in one context: one or several PTX texts, linked.
class Module {
public:
  // Null if it cannot be read or linked; then `error` says why, with the line.
  static std::unique_ptr<Module> load(std::span<const std::string_view> texts, std::string* error);
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Sizes of shared and local memory are 0 until find_kernel() was asked for the kernel.
  virtual const std::vector<Kernel>& kernels() const = 0;
  virtual const std::vector<Variable>& variables() const = 0;
  // Reads the kernel's code, so that its sizes are known. Null if there is none.
  const Kernel* find_kernel(std::string_view name);

  // All variables are placed before the first launch and before initial_bytes(). Names of what
  // other modules define (.extern that none of the texts has) fail load().
  virtual void set_address(std::size_t variable, std::uint64_t address) = 0;
  // Holds addresses of variables and functions where the initialiser names them.
  virtual std::vector<std::byte> initial_bytes(std::size_t variable) const = 0;

  // The highest .target of the texts, such as 90.
  virtual unsigned target() const = 0;

protected:
  Module() = default;
};

// The heap of malloc() and free() in kernels: one for each context, alive over launches. Its memory
// lies in a region of the Memory and belongs to the heap until it is destroyed.
class DeviceHeap {
public:
  static std::unique_ptr<DeviceHeap> create(Memory& memory, std::uint64_t address,
                                            std::uint64_t bytes);
  virtual ~DeviceHeap() = default;
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  // The block of malloc() at or around an address, alive or freed; false if there is none.
  virtual bool block_at(std::uint64_t address, std::uint64_t* begin, std::uint64_t* bytes,
                        bool* is_freed) const = 0;
  virtual std::uint64_t alive_bytes() const = 0;

protected:
  DeviceHeap() = default;
};

enum class Checks : std::uint8_t {
  kNone,    // bounds alone, which protect the process
  kDefault, // everything; a warp that loads what is not initialised tracks registers from there
  kFull,    // the same, and each warp tracks registers and local memory from its start
};

class DeviceLaunches;

struct Limits {
  double seconds = 0;             // of one launch; 0: none
  std::uint64_t instructions = 0; // of warps; 0: none
  std::uint64_t resident_warps = 2048;
  std::uint64_t memory_bytes = std::uint64_t{4} << 30; // of the executor itself: registers, local
  // For races in global memory, and no more than a quarter of the machine's
  std::uint64_t race_bytes = std::uint64_t{2} << 30;
};

struct Device {
  std::uint32_t multiprocessors = 132;
  std::uint32_t shared_bytes_per_block = 232448;
  std::uint64_t stack_bytes = 1024; // cudaLimitStackSize; kernels' own frames are not limited by it
};

struct Launch {
  Module* module = nullptr;
  const Kernel* kernel = nullptr;
  Extent grid, block;
  std::uint64_t dynamic_shared_bytes = 0;
  std::span<const std::byte> parameters; // kernel->parameter_bytes of them
  bool cooperative = false;
  // Blocks of a cluster, which divide the grid. Unless the launch says that it has clusters, they
  // are what the kernel says.
  Extent cluster{1, 1, 1};
  bool has_clusters = false;
  // The block of memory that an address lies in; false: none is known. Null: of no address.
  std::function<bool(std::uint64_t address, std::uint64_t* begin, std::uint64_t* bytes)> block_at;
  // The texture or surface of a handle; null: there is none. It may run on several threads.
  std::function<FoundTexture(std::uint64_t handle)> texture_at;
  // Other work may write memory of the device while this runs: what polls it may wait for that.
  bool others_may_write = false;
  // Where to say which memory it used; null: it is not asked for. Loads of what it never writes
  // cost more then.
  Accesses* accesses = nullptr;
  // A programmatic launch may begin before the one in front of it has ended: what that said where
  // `becomes_primary` leads, with no launch between; null: it has ended, or let none begin.
  std::shared_ptr<const PrimaryLaunch> primary;
  std::shared_ptr<PrimaryLaunch>* becomes_primary = nullptr; // null: it is not asked for
  std::uint64_t call = 0; // by which the program launches it, for races with later launches
  // Of kernels that launch kernels, and of those: what else they lead to. Null: it is not asked
  // for.
  LaunchTree* tree = nullptr;
  std::uint64_t grid_id = 1;
  // Of the device's timer: when the launch begins, and then when it has ended. Null: 0.
  std::uint64_t* nanoseconds = nullptr;
  DeviceLaunches* launches = nullptr; // of kernels that launch kernels
  Memory* memory = nullptr;
  Reach reach;                // of its device in the memory
  DeviceHeap* heap = nullptr; // null: malloc() answers null
  Device device;
  Limits limits;
  Checks checks = Checks::kDefault;
  unsigned workers = 1; // threads that may run blocks, this one included; 1: each run is the same
  // In which order blocks start and warps and lanes have their turns. 0: as they are numbered.
  std::uint64_t seed = 0;
  // The first blocks alone have that order; the others have theirs as they are numbered.
  std::uint64_t mixed_blocks = ~std::uint64_t{0};
  std::uint64_t alone_instructions = 10000; // of warps; other workers help a launch that has more
  // Where to say what its instructions moved; null: it is not counted. Accesses cost more then.
  Traffic* traffic = nullptr;
  TrafficCounter* counter = nullptr; // of run() itself
};

// Whether a kernel uses malloc(), free() or a feature that is not executed: what run() would say,
// without running. `reason` is empty if it can run.
struct Ability {
  std::string reason;
  Location location;
  bool uses_heap = false;
  bool uses_printf = false;
  bool uses_grid_sync = false;
  bool writes_surfaces = false;
  bool launches_kernels = false;
};
Ability examine(Module& module, const Kernel& kernel);

// The arguments by which the launch writes to memory of the device. False: it may write elsewhere.
// Surfaces are no such memory.
bool written_pointers(const Launch& launch, std::vector<std::uint64_t>* pointers);

// Calls the observer from this thread alone.
Outcome run(const Launch& launch, Observer& observer);

unsigned usable_processors(); // that this process may use, at least 1

} // namespace gmt::executor
