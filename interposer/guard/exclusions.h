// SPDX-License-Identifier: Apache-2.0
// Call stacks whose allocations stay plain: those that passed through a file or an address of code
// that --guard-exclude names, and those that have given a block to another process.
#pragma once

#include <cstdint>

#include "interposer/guard/store/blocks.h"
#include "trace/guard.h"

namespace gmt::interposer {

struct StackVerdict {
  std::uint64_t stack = 0; // a hash of it; 0 if it is not known
  bool plain = false;
  trace::GuardPlain why = trace::GuardPlain::kExcluded;
};
// Of the calling thread's stack, whose uppermost frames are ours.
StackVerdict ask_stack() noexcept;
void exclude_stack(std::uint64_t stack) noexcept;
void forget_exclusions() noexcept;

// Whether a name of the list, parts of it separated by commas, is the file's name or the address
// "<file>+0x<offset>".
bool list_names(const char* list, const char* file, std::uint64_t offset) noexcept;

} // namespace gmt::interposer
