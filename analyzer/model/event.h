// SPDX-License-Identifier: Apache-2.0
// One event of a trace, in the merged order of one process: who did it, how it ended, and by its
// kind what it says. What it points to lives until the next event is asked for.
#pragma once

#include <cstdint>
#include <type_traits>

#include "analyzer/model/call_events.h"
#include "analyzer/model/event_kind.h"
#include "analyzer/model/stated_events.h"
#include "trace/cuda_constants.h"
#include "trace/vocabulary.h"

namespace gmt {

// Index into the process's StackTable: the same call stack has the same id in every log. 0 is "no
// stack".
struct StackId {
  std::uint32_t value = 0;
  friend constexpr bool operator==(StackId, StackId) = default;
  explicit constexpr operator bool() const { return value != 0; }
};

inline constexpr unsigned kOrderBits = 48;
inline constexpr std::uint64_t kOrderMask = (std::uint64_t{1} << kOrderBits) - 1;
inline constexpr std::uint16_t kResultInFlight = 0xffff; // the call had not returned

struct Event {
  Event() : subject_{} {}

  EventKind kind = EventKind::kNone;
  bool is_nested = false;            // made by the driver itself or inside another recorded call
  bool from_runtime = false;         // written by the runtime's call: no driver call followed
  std::uint16_t api = trace::kNoApi; // index into the trace's names; kNoApi if damaged
  std::uint16_t via = trace::kNoApi; // runtime call that led here, kNoApi if none
  std::uint16_t result = 0;          // CUresult, cudaError_t if from_runtime, or kResultInFlight
  std::uint16_t context = 0;         // number of the context, 0 unknown
  // Number of the thread; before format 1.5 index of the log, which threads may share
  std::uint32_t thread = 0;
  std::uint32_t log = 0; // index of the log this came from
  StackId stack;
  std::uint64_t order = 0; // of kOrderBits
  std::uint64_t time = 0;
  std::uint64_t ticks = 0; // how long the call took, in units of `time`; 0 unknown

  // What it says. Only the function of its kind may be called, subject() for any call.
  const event::Subject& subject() const { return subject_; }
  const event::Allocation& allocation() const { return allocation_; }
  const event::Free& free() const { return free_; }
  const event::Copy& copy() const { return copy_; }
  const event::Set& set() const { return set_; }
  const event::Launch& launch() const { return launch_; }
  const event::Life& life() const { return life_; }
  const event::Sync& sync() const { return sync_; }
  const event::Note& note() const { return note_; }
  const event::Use& use() const { return use_; }
  const event::GraphKernel& graph_kernel() const { return graph_kernel_; }
  const event::GraphChange& graph_change() const { return graph_change_; }
  const event::Name& name() const { return name_; }
  const event::Text& text() const { return text_; }
  const event::Context& described_context() const { return context_; }
  const event::Exit& exit() const { return exit_; }
  const event::Loss& loss() const { return loss_; }
  const event::Kernel& kernel() const { return kernel_; }
  const event::Device& device() const { return *device_; }
  const event::MemoryInfo& memory_info() const { return memory_info_; }
  const event::Range& range() const { return range_; }
  const event::Fault& fault() const { return *fault_; }
  const event::Execution& execution() const { return *execution_; }
  const event::GuardDamage& guard_damage() const { return guard_damage_; }
  const event::GuardCounts& guard_counts() const { return *guard_counts_; }
  const event::HostMemory& host_memory() const { return host_memory_; }
  const event::LaunchLimits& launch_limits() const { return *launch_limits_; }
  const event::Tensor& tensor() const { return tensor_; }

  void say(const event::Subject& what) { subject_ = what; }
  void say(const event::Allocation& what) { allocation_ = what; }
  void say(const event::Free& what) { free_ = what; }
  void say(const event::Copy& what) { copy_ = what; }
  void say(const event::Set& what) { set_ = what; }
  void say(const event::Launch& what) { launch_ = what; }
  void say(const event::Life& what) { life_ = what; }
  void say(const event::Sync& what) { sync_ = what; }
  void say(const event::Note& what) { note_ = what; }
  void say(const event::Use& what) { use_ = what; }
  void say(const event::GraphKernel& what) { graph_kernel_ = what; }
  void say(const event::GraphChange& what) { graph_change_ = what; }
  void say(const event::Name& what) { name_ = what; }
  void say(const event::Text& what) { text_ = what; }
  void say(const event::Context& what) { context_ = what; }
  void say(const event::Exit& what) { exit_ = what; }
  void say(const event::Loss& what) { loss_ = what; }
  void say(const event::Kernel& what) { kernel_ = what; }
  void say(const event::MemoryInfo& what) { memory_info_ = what; }
  void say(const event::Range& what) { range_ = what; }
  void say(const event::GuardDamage& what) { guard_damage_ = what; }
  void say(const event::HostMemory& what) { host_memory_ = what; }
  void say(const event::Tensor& what) { tensor_ = what; }
  // These must live as long as the event.
  void refer(const event::Device& what) { device_ = &what; }
  void refer(const event::Fault& what) { fault_ = &what; }
  void refer(const event::Execution& what) { execution_ = &what; }
  void refer(const event::GuardCounts& what) { guard_counts_ = &what; }
  void refer(const event::LaunchLimits& what) { launch_limits_ = &what; }

  // A stream by a number of its own, where the handle that the call gave stands for another one in
  // each thread.
  std::uint64_t own_stream(std::uint64_t handle) const {
    return handle == cuda::kStreamPerThread ? std::uint64_t{1} << 63 | thread : handle;
  }
  bool in_flight() const { return result == kResultInFlight; }
  bool succeeded() const { return result == 0; }

private:
  union { // by kind
    event::Subject subject_;
    event::Allocation allocation_;
    event::Free free_;
    event::Copy copy_;
    event::Set set_;
    event::Launch launch_;
    event::Life life_;
    event::Sync sync_;
    event::Note note_;
    event::Use use_;
    event::GraphKernel graph_kernel_;
    event::GraphChange graph_change_;
    event::Name name_;
    event::Text text_;
    event::Context context_;
    event::Exit exit_;
    event::Loss loss_;
    event::Kernel kernel_;
    const event::Device* device_;
    event::MemoryInfo memory_info_;
    event::Range range_;
    const event::Fault* fault_;
    const event::Execution* execution_;
    event::GuardDamage guard_damage_;
    const event::GuardCounts* guard_counts_;
    event::HostMemory host_memory_;
    const event::LaunchLimits* launch_limits_;
    event::Tensor tensor_;
  };
};
static_assert(sizeof(Event) <= 128);
static_assert(std::is_trivially_copyable_v<Event>);

// The stream that the call names; 0 for kinds that name none.
inline std::uint64_t named_stream(const Event& e) {
  switch (e.kind) {
  case EventKind::kAlloc: return e.allocation().stream;
  case EventKind::kFree: return e.free().stream;
  case EventKind::kCopy: return e.copy().stream;
  case EventKind::kSet: return e.set().stream;
  case EventKind::kLaunch: return e.launch().stream;
  case EventKind::kSync: return e.sync().stream;
  case EventKind::kUse: return e.use().stream;
  default: return 0;
  }
}

// Whether a copy, set or use is described by its rows.
inline bool is_shaped(const Event& e) {
  switch (e.kind) {
  case EventKind::kCopy: return e.copy().is_shaped;
  case EventKind::kSet: return e.set().is_shaped;
  case EventKind::kUse: return e.use().is_shaped;
  default: return false;
  }
}

// Words of a kernel's parameter block that could be pointers, of launches and of graphs' kernels;
// else none.
inline Arguments arguments_of(const Event& e) {
  if (e.kind == EventKind::kLaunch) return e.launch().arguments;
  return e.kind == EventKind::kGraphKernel ? e.graph_kernel().arguments : Arguments{};
}

} // namespace gmt
