// SPDX-License-Identifier: Apache-2.0
// What an event is, and which events are calls.
#pragma once

#include <cstdint>

namespace gmt {

enum class EventKind : std::uint8_t {
  kNone = 0,

  // What is said of the process and its devices. No calls.
  kName = 4, // of a kernel, module or library
  kContext = 5,
  kExit = 6, // how the process says it is going to end
  kLoss = 7,
  kKernel = 8,
  kDevice = 9,
  kMemoryInfo = 10, // right after an allocation failed
  kRange = 11,      // NVTX
  kText = 12,
  kThread = 13,
  kFault = 14,     // a mistake inside a kernel, on the simulated device
  kExecution = 15, // how far kernels ran there

  // Calls.
  kAlloc = 16,
  kFree = 17,
  kCopy = 18,
  kSet = 19,
  kLaunch = 20,
  kLife = 21, // of a context, stream, pool, graph and the like
  kSync = 22, // an ordering
  kNote = 23, // any other recorded call
  kUse = 24,  // memory is bound or used otherwise
  kGraphKernel = 25,
  kGraphChange = 26, // any other change of what a graph runs

  // What --guard found and did. No calls.
  kGuardDamage = 27,
  kGuardExport = 28,
  kGuardCounts = 29,

  // What is said of memory or of a call, for the heap alone.
  kHostMemory = 44,
  kLaunchLimits = 45,

  kTensor = 46, // what PyTorch's caching allocator gives out and takes back. No call
};

inline constexpr EventKind kLastEventKind = EventKind::kGuardCounts; // of those for all

// No detector is called for it.
constexpr bool is_for_heap_alone(EventKind kind) {
  return kind == EventKind::kHostMemory || kind == EventKind::kLaunchLimits;
}

// Calls alone: what counts as an event in reports.
constexpr bool is_call(EventKind kind) {
  return kind >= EventKind::kAlloc &&
         (kind < EventKind::kGuardDamage || kind > EventKind::kGuardCounts) &&
         kind != EventKind::kTensor && !is_for_heap_alone(kind);
}

} // namespace gmt
