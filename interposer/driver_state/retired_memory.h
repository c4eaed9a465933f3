// SPDX-License-Identifier: Apache-2.0
// Addresses at which blocks of CUDA's lay and none lies any more. The driver gives them back, and
// the host may have mapped memory of its own there since. So such an address is no proof that a
// call uses freed memory.
//
// Kept is how many live blocks touch each piece of 2 MiB, which is the least that a driver maps.
// What finds no room is not followed: then a piece looks alive, or dead too early, and nothing is
// known or asked in vain. A pinned block that the host still reads behind its release has left its
// piece to the driver. Stream-ordered memory is left out: a pool keeps its addresses until it is
// destroyed (H200, driver 580.159.04). Nothing here takes a lock or allocates.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/log/record.h"

namespace gmt::interposer {

inline constexpr unsigned kPieceBits = 21;
// Their numbers begin anew after 1 TiB of addresses
inline constexpr std::uint64_t kPieces = std::uint64_t{1} << 19;
inline constexpr std::uint16_t kPieceWasUsed = 1 << 15; // the other bits count live blocks

extern std::atomic<std::uint16_t> live_blocks_of_piece[kPieces];
extern std::atomic<bool> any_retired_memory;

// `word` may be a launch's argument, with a parameter's number in its highest bits.
inline bool is_retired(std::uint64_t word) noexcept {
  return live_blocks_of_piece[word >> kPieceBits & (kPieces - 1)].load(std::memory_order_relaxed) ==
         kPieceWasUsed;
}

// Whether an accepted call begins or ends a block that is followed.
inline bool concerns_retired_memory(const Record& record) noexcept {
  if (record.kind == trace::Kind::kFree) {
    const trace::FreeFunction function = trace::FreeView(record).function();
    return function == trace::FreeFunction::kMemFree ||
           function == trace::FreeFunction::kMemFreeHost ||
           function == trace::FreeFunction::kMemUnmap || function == trace::FreeFunction::kIpcClose;
  }
  if (record.kind != trace::Kind::kAlloc) return false;
  const trace::MemoryKind memory = trace::AllocView(record).memory_kind();
  return memory == trace::MemoryKind::kDevice || memory == trace::MemoryKind::kPitched ||
         memory == trace::MemoryKind::kManaged || memory == trace::MemoryKind::kPinned ||
         memory == trace::MemoryKind::kVmmMapping || memory == trace::MemoryKind::kIpc;
}
void follow_retired_memory(const Record& record) noexcept; // a call that concerns it
void retire_all_memory() noexcept;     // a context has ended, and its blocks with it
void forget_retired_memory() noexcept; // a forked child has none of it

inline constexpr std::uint64_t kHostPage = 4096;
// Whether the host can read memory at a retired address, asked of the kernel: what a driver keeps
// reserved without access cannot be read. False for pages that are remembered as the host's, and
// seldom asked again of those that never were.
bool is_newly_hosts(std::uint64_t address) noexcept;
void remember_hosts(std::uint64_t address) noexcept; // until blocks begin or end somewhere

} // namespace gmt::interposer
