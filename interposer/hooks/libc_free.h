// SPDX-License-Identifier: Apache-2.0
// The hooks on the C library's free() and realloc(): memory of CUDA's that the program hands to them is recorded before
// the real call, which may end the process there; registered memory, which they may take, when it has gone. Ordinary
// pointers cost a test and a jump (tests/bench/free_cost).
//
// Which addresses are CUDA's: call.cpp tells of every host-side allocation and release. Nothing here takes a lock or
// allocates, because free() is called before the first constructor, from the loader, and after the last destructor.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/log/record.h"

namespace gmt::interposer {

// Told of completed calls that concern it.
void follow_host_memory(const Record& record) noexcept;
extern std::atomic<std::uint32_t> followed_host_blocks;
inline bool concerns_host_memory(const Record& record) noexcept {
  if (record.kind == trace::Kind::kFree) return followed_host_blocks.load(std::memory_order_relaxed) != 0;
  if (record.kind != trace::Kind::kAlloc) return false;
  const auto family = static_cast<trace::Family>(record.w[2]);
  return family == trace::Family::kPinned || family == trace::Family::kManaged || family == trace::Family::kRegistered;
}

void forget_host_memory() noexcept; // a forked child has none of it

} // namespace gmt::interposer
