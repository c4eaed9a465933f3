// SPDX-License-Identifier: Apache-2.0
// What happened at a call stack of a finding, and the label that a report gives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gmt {

enum class StackRole : std::uint8_t {
  kAllocated,
  kRegistered,
  kLookedUp, // a static variable
  kCreated,
  kImported,
  kFreed,
  kUnregistered,
  kReleased,
  kUnmapped,
  kClosed,
  kHostMemoryFreed, // by the C library's free()
  kFreedByHost,     // in contrast to a free in a kernel
  kContextEnded,
  kPoolEnded,
  kPoolDestroyed,
  kDestroyed, // an object that is no memory
  kCopied,
  kHostMemoryCopied,
  kSet,
  kUsed,
  kCalled,
  kAccessed,
  kWaited, // at a barrier
  kLaunched,
  kGraphLaunched,
  kGraphFirstLaunched,
  kGraphLastLaunched,
  kCaptured,
  kNodeMade,
  kFailed,
  kReported,
  kLimitRefused,
  kHeld,
};

// Which of several: the first free and the one that comes again.
enum class StackOrder : std::uint8_t { kOnly, kFirst, kAgain, kTooLate, kNeighbour };

// Memory that one of several call sites has.
struct MemoryAmount {
  std::uint64_t bytes = 0, blocks = 0;
};

std::string_view words_of(StackRole role); // "allocated"

// "first freed here", "allocated here: 1.0 MiB in 2 blocks"
std::string stack_label(StackRole role, StackOrder order = StackOrder::kOnly,
                        const std::optional<MemoryAmount>& amount = std::nullopt);

} // namespace gmt
