// SPDX-License-Identifier: Apache-2.0
// The blocks of device memory that are followed, and the slots of the table that their bounds have.
// Here is the book-keeping alone: nothing calls the driver.
//
// Slots are given out again at once, though kernels may still read what they named before: a thread
// takes bounds only if they hold its pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rewriter/table.h"

namespace gmt::interposer::kernel_checks {

inline constexpr std::size_t kGranule = std::size_t{1} << rewriter::kGranuleBits;
// The slot whose entry means unknown memory: blocks without a slot of their own.
inline constexpr std::uint32_t kNoSlot = rewriter::kBlockSlots - 1;

struct Kept {
  rewriter::Block block;
  std::uint32_t slot = kNoSlot;
  bool is_in_table = false; // else it is here for its size alone
  bool is_ordered = false;  // a stream gave it out, and frees it
  bool is_hosts = false;    // the host may use it, too: it never rests
  bool is_foreign = false;  // another process has allocated it: the driver frees it in its way
  unsigned table = 0;       // of the context that it was allocated in
  std::uint64_t pool = 0;   // that gave it out with poison; 0: none did
  std::size_t room = 0;     // that the driver gave, with poison; 0: no more than that
};

inline std::size_t size_of(const Kept& kept) noexcept { return kept.block.end - kept.block.begin; }
inline bool is_ordinary(const void* result, std::size_t bytes) noexcept {
  return result != nullptr && bytes != 0 && bytes < (std::size_t{1} << 48);
}
inline std::size_t with_poison(std::size_t bytes) noexcept {
  return (bytes + kGranule - 1) / kGranule * kGranule + kGranule;
}

inline std::size_t room_of(const Kept& kept) noexcept {
  return kept.room != 0 ? kept.room : with_poison(size_of(kept));
}

std::uint32_t take_slot() noexcept;
void give_slot(std::uint32_t slot) noexcept;

void keep_live(const Kept& kept) noexcept; // in the place of one that begins there
std::optional<Kept> take_live(std::uint64_t begin) noexcept;
std::optional<Kept> find_live(std::uint64_t begin) noexcept;
std::optional<Kept> find_live_around(std::uint64_t address) noexcept;

// Freed by the program, not yet by the driver.
void let_rest(const Kept& kept) noexcept;
bool rests(std::uint64_t begin) noexcept;
// The oldest one, if more than so many bytes rest.
std::optional<Kept> take_resting(std::size_t most_bytes) noexcept;
// Of those of a table, the oldest one with so much room; else of the oldest ones one with room for
// `needed`, and not much more. Only if more than `most_bytes` would rest with another one of these.
std::optional<Kept> take_resting_of(unsigned table, std::size_t room, std::size_t needed,
                                    std::size_t most_bytes) noexcept;

// How many bytes of a pool are poison of live blocks; `at_most`: were when most of it was used.
std::uint64_t poison_in_pool(std::uint64_t pool, bool at_most) noexcept;
void begin_most_of_pool(std::uint64_t pool) noexcept; // what is used now is the most

// Takes away all that live or rest and were allocated in the table's context, which has ended.
std::vector<Kept> take_blocks_of(unsigned table) noexcept;
std::vector<Kept> live_blocks() noexcept; // as they are now
void forget_all_blocks() noexcept;
void abandon_blocks() noexcept; // in a forked child

} // namespace gmt::interposer::kernel_checks
