// SPDX-License-Identifier: Apache-2.0
// One decoded record of a trace, in the merged order of one process. An Event is a view: it lives
// until the next one is asked for.
#pragma once

#include <cstdint>
#include <span>

#include "trace/cuda_constants.h"
#include "trace/records.h"

namespace gmt {

// Index into the process's StackTable: the same call stack has the same id in every log. 0 is "no
// stack".
struct StackId {
  std::uint32_t value = 0;
  friend constexpr bool operator==(StackId, StackId) = default;
  explicit constexpr operator bool() const { return value != 0; }
};

struct Event {
  trace::Kind kind;
  std::uint16_t api; // index into the trace's names; kNoApi if damaged
  std::uint16_t via; // runtime call that led here, kNoApi if none
  std::uint16_t flags;
  std::uint16_t result;  // CUresult, cudaError_t with kFlagRuntime, or kResultInFlight
  std::uint16_t context; // id of a kContext record, 0 unknown
  // Number of the thread; before format 1.5 index of the log, which threads may share
  std::uint32_t thread;
  std::uint32_t log; // index of the log this came from
  StackId stack;
  std::uint64_t order;
  std::uint64_t time;
  std::uint64_t ticks; // how long the call took, in units of `time`; 0 unknown
  // For trace::AllocView and the other views; at least 4 words
  std::span<const std::uint64_t> payload;

  // A stream by a number of its own, where the handle that the call gave stands for another one in
  // each thread.
  std::uint64_t own_stream(std::uint64_t handle) const {
    return handle == cuda::kStreamPerThread ? std::uint64_t{1} << 63 | thread : handle;
  }
  bool in_flight() const { return result == trace::kResultInFlight; }
  bool succeeded() const { return result == 0; }
  bool from_runtime() const { return (flags & trace::kFlagRuntime) != 0; }
};

// What is said of memory or of a call, for the heap alone: no detector is called for it.
constexpr bool is_for_heap_alone(trace::Kind kind) {
  return kind == trace::Kind::kHostMemory || kind == trace::Kind::kLaunchLimits;
}

// Calls alone: what counts as an event in reports.
constexpr bool is_call(trace::Kind kind) {
  return kind >= trace::Kind::kAlloc &&
         (kind < trace::Kind::kGuardDamage || kind > trace::Kind::kGuardCounts) &&
         !is_for_heap_alone(kind);
}

// The stream that the call names; 0 for kinds that name none.
inline std::uint64_t named_stream(const Event& e) {
  switch (e.kind) {
  case trace::Kind::kAlloc: return trace::AllocView(e).stream();
  case trace::Kind::kFree: return trace::FreeView(e).stream();
  case trace::Kind::kCopy: return trace::CopyView(e).stream();
  case trace::Kind::kSet: return trace::SetView(e).stream();
  case trace::Kind::kLaunch: return trace::LaunchView(e).stream();
  case trace::Kind::kSync: return trace::SyncView(e).stream();
  case trace::Kind::kUse: return trace::UseView(e).stream();
  default: return 0;
  }
}

// Words of a kernel's parameter block that could be pointers, of launches and of graphs' kernels;
// else none.
inline trace::Payload arguments_of(const Event& e) {
  return trace::arguments_of(e.kind, trace::payload_of(e));
}

} // namespace gmt
