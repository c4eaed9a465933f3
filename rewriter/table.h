// SPDX-License-Identifier: Apache-2.0
// What the host writes into the table for a block of memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rewriter/rewriter.h"

namespace gmt::rewriter {

// The entry for the 512 bytes that hold `address`, which is in the block. The block begins at a
// multiple of 512. `slot` is where its bounds stand behind the table.
inline std::int16_t entry_of(const Block& block, std::uint32_t slot, std::uint64_t address) {
  constexpr std::uint64_t kGranule = std::uint64_t{1} << kGranuleBits;
  const std::uint64_t rest = block.end - address / kGranule * kGranule;
  const bool next_is_full = rest >= 2 * kGranule;
  if (next_is_full) return static_cast<std::int16_t>(kFirstBlock + static_cast<std::int32_t>(slot));
  return static_cast<std::int16_t>(std::min(rest, kGranule));
}

// How many addresses each of the two windows has.
inline std::uint64_t window_bytes(const Options& options) {
  return (std::uint64_t{1} << options.window_bits) / 2;
}
// Whether both are in one window.
inline bool are_covered(const Options& options, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t bytes = window_bytes(options);
  const bool are_low = first < bytes && last < bytes;
  const bool are_high = first - options.window < bytes && last - options.window < bytes;
  return first <= last && (are_low || are_high);
}
// What a module has from the host.
inline Placed placed_of(const Options& options) {
  Placed placed;
  placed.table = options.table;
  placed.shift = options.window - window_bytes(options);
  return placed;
}

// Where the entry of a covered address lies on the device, and where the bounds of a block do.
inline std::uint64_t entry_address(const Options& options, std::uint64_t address) {
  const bool is_low = address < window_bytes(options);
  const std::uint64_t joined = is_low ? address : address - placed_of(options).shift;
  return options.table + (joined >> kGranuleBits) * sizeof(std::int16_t);
}
inline std::uint64_t slot_address(const Options& options, std::uint32_t slot) {
  return options.table + (std::uint64_t{2} << (options.window_bits - kGranuleBits)) +
         slot * sizeof(Block);
}
inline std::uint64_t table_bytes(const Options& options) {
  return slot_address(options, kBlockSlots) - options.table;
}

} // namespace gmt::rewriter
