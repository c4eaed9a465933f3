// SPDX-License-Identifier: Apache-2.0
// Fragments of mma as matrices. A register of 32 bits has, in the order of its lanes, 8 rows of 16
// bytes: of A 8 of its rows, of B 8 of its columns. Registers of A with odd numbers have the lower
// 8 rows if there are 16; those behind have the next 16 bytes of each row. A register of D of
// 32-bit elements has every other column: lane 4r + c has columns 2c and 2c + 1 of row r in two
// registers.
#pragma once

#include "simulated_cuda/executor/machine/handlers/lanes.h"
#include "simulated_cuda/executor/machine/handlers/missing_lanes.h"

#include <vector>

namespace gmt::executor {
namespace {

constexpr u32 kBlock = 8;     // rows or columns of a register
constexpr u32 kRowBytes = 16; // of one of them
constexpr u32 kMostRows = 16, kMostRowBytes = 4 * kRowBytes;

inline const Product& product_of(const Warp& w, Next in) {
  return w.frame->code->products[in->extra];
}

// Where the lanes of the warp that still live are not all here, they are waited for. Null: go on.
[[gnu::always_inline]] inline bool waits(Warp& w, Next in, Next* next) {
  if ((w.alive & ~w.mask) == 0 || goes_on_without(w, in)) [[likely]]
    return false;
  *next = w.wait_for(in, w.alive);
  return true;
}

// Rows of a factor, each kMostRowBytes behind the one before. `blocks`: of 8 rows each.
inline void take_rows(Warp& w, const std::vector<u32>& registers, u32 blocks, std::byte* rows) {
  for (u32 i = 0; i < registers.size(); ++i) {
    const auto* from = reinterpret_cast<const std::byte*>(at<const u32>(w, registers[i]));
    std::byte* to = rows + (i % blocks) * kBlock * kMostRowBytes + (i / blocks) * kRowBytes;
    for (u32 r = 0; r < kBlock; ++r)
      std::memcpy(to + r * kMostRowBytes, from + r * kRowBytes, kRowBytes);
  }
}

// Elements of 32 bits of C or D, 8 a row.
inline void take_tile(Warp& w, const std::vector<u32>& registers, u32* tile) {
  for (u32 i = 0; i < registers.size(); ++i) {
    const u32* from = at<const u32>(w, registers[i]);
    u32* to = tile + (i / 2) * kBlock * kBlock + i % 2;
    for (u32 l = 0; l < kLanes; ++l) to[2 * l] = from[l];
  }
}
inline void give_tile(Warp& w, const std::vector<u32>& registers, const u32* tile) {
  for (u32 i = 0; i < registers.size(); ++i) {
    alignas(64) u32 t[kLanes];
    const u32* from = tile + (i / 2) * kBlock * kBlock + i % 2;
    for (u32 l = 0; l < kLanes; ++l) t[l] = from[2 * l];
    blend(at<u32>(w, registers[i]), t, w.mask);
  }
}

// A sparse A has two of each four units, of 8 or 16 bits, and two bits of metadata for each that
// say where it stands. Where a row's metadata are 16 bits, a lane of each four has those of two
// rows. Of 32 bits, two lanes have half of two rows each, or of units of 8 bits a row each. Of 64
// bits, two lanes have a row.
template <u32 kUnitBytes>
u64 metadata_of(const u32* metadata, u32 selector, u32 row, u32 bits_of_row) {
  const u32 *four = metadata + row % kBlock * 4, lower = row / kBlock;
  const auto half = [&](u32 lane) { return u64{four[lane & 3] >> (16 * lower) & 0xffffu}; };
  if (bits_of_row == 16) return half(selector);
  if (bits_of_row == 64) return four[lower] | u64{four[2 + lower]} << 32;
  if (kUnitBytes == 1) return four[(2 * selector + lower) & 3];
  return half(2 * selector) | half(2 * selector + 1) << 16;
}
// `present` gets a bit for each unit of a row that A has.
template <u32 kUnitBytes>
void spread_rows(Warp& w, const Product& p, u32 row_bytes, std::byte* rows, u64* present) {
  const u32 kept = row_bytes / kUnitBytes / 2;
  const u32* metadata = at<const u32>(w, p.metadata);
  for (u32 m = 0; m < p.m; ++m) {
    const u64 positions = metadata_of<kUnitBytes>(metadata, p.selector, m, 2 * kept);
    alignas(16) std::byte spread[kMostRowBytes] = {};
    std::byte* row = rows + m * kMostRowBytes;
    present[m] = 0;
    for (u32 i = 0; i < kept; ++i) {
      const u32 position = i / 2 * 4 + static_cast<u32>(positions >> (2 * i) & 3);
      std::memcpy(spread + position * kUnitBytes, row + i * kUnitBytes, kUnitBytes);
      present[m] |= u64{1} << position;
    }
    std::memcpy(row, spread, sizeof spread);
  }
}

} // namespace
} // namespace gmt::executor
