// SPDX-License-Identifier: Apache-2.0
// Why --guard leaves allocations as they are: a number of each is in records. C++17, includes
// nothing of CUDA's.
#pragma once

#include "trace/vocabulary.h"

namespace gmt::trace {

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
