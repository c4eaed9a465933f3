// SPDX-License-Identifier: Apache-2.0
// Enumerations of the records that --guard writes: trace/records.def has their words. C++17,
// includes nothing of ours and nothing of CUDA's. Numbers are kept for ever, as in format.h.
#pragma once

#include <cstdint>

namespace gmt::trace {

// When a pattern was looked at.
enum class GuardMoment : std::uint8_t {
  kFree = 0,   // when the block was freed
  kEnd = 1,    // when the process or its context ended
  kLaunch = 2, // behind a launch: --guard-check launch
};

// Why an allocation of a kind that is fenced stayed plain. In the order of the words of a
// GuardCounts record.
enum class GuardPlain : std::uint8_t {
  kInCapture = 0,    // a stream captured
  kNoMemory = 1,     // the device had no room for a mapping of its own
  kNoAddresses = 2,  // the reservation is full
  kOverLimit = 3,    // --guard-limit
  kTooSmall = 4,     // --guard-min
  kNotSampled = 5,   // --guard-sample
  kExported = 6,     // its call stack gave a block to another process before
  kExcluded = 7,     // --guard-exclude
  kSharedPool = 8,   // its pool can be given to other processes, or is no device memory's
  kNotSupported = 9, // the device has no virtual memory management, or refused
  kCount = 10,
};

} // namespace gmt::trace
