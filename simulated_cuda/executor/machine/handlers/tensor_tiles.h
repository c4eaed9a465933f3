// SPDX-License-Identifier: Apache-2.0
// Fragments of C and D as tiles that lie column by column, as tensor_sum.h wants them, and back.
#pragma once

#include "simulated_cuda/executor/machine/handlers/products.h"
#include "simulated_cuda/executor/machine/handlers/tensor_sum.h"

#include <vector>

namespace gmt::executor {
namespace {

// Eight times 16 bytes as one row of elements, whose halves are put together like cards when they
// are shuffled. Three times make columns of 8 rows; twice make rows of 4 columns.
template <class T>
[[gnu::always_inline]] inline void shuffle(__m128i (&rows)[kBlock]) {
  __m128i next[kBlock];
  GMT_UNROLL for (u32 i = 0; i < kBlock / 2; ++i) {
    const __m128i a = rows[i], b = rows[i + kBlock / 2];
    if constexpr (sizeof(T) == 1) {
      next[2 * i] = _mm_unpacklo_epi8(a, b);
      next[2 * i + 1] = _mm_unpackhi_epi8(a, b);
    } else if constexpr (sizeof(T) == 2) {
      next[2 * i] = _mm_unpacklo_epi16(a, b);
      next[2 * i + 1] = _mm_unpackhi_epi16(a, b);
    } else {
      next[2 * i] = _mm_unpacklo_epi32(a, b);
      next[2 * i + 1] = _mm_unpackhi_epi32(a, b);
    }
  }
  GMT_UNROLL for (u32 i = 0; i < kBlock; ++i) rows[i] = next[i];
}
// `from` and `to`: where 16 bytes begin, by their index.
template <class T, u32 kTimes, class From, class To>
[[gnu::always_inline]] inline void turn(From from, To to) {
  __m128i rows[kBlock];
  GMT_UNROLL for (u32 i = 0; i < kBlock; ++i) std::memcpy(&rows[i], from(i), kRowBytes);
  GMT_UNROLL for (u32 i = 0; i < kTimes; ++i) shuffle<T>(rows);
  GMT_UNROLL for (u32 i = 0; i < kBlock; ++i) std::memcpy(to(i), &rows[i], kRowBytes);
}

// A register of f32 has every other column of 8 rows: two times 16 bytes of each.
void take_floats(Warp& w, const std::vector<u32>& registers, Tile& tile) {
  for (u32 i = 0; i < registers.size(); ++i) {
    const u32* from = at<const u32>(w, registers[i]);
    f32* to = tile + i % 2 * kRows + i / 2 * kBlock;
    turn<u32, 3>([&](u32 j) { return from + j * 4; },
                 [&](u32 j) { return to + j / 2 * 2 * kRows + j % 2 * 4; });
  }
}
void give_floats(Warp& w, const std::vector<u32>& registers, const Tile& tile) {
  for (u32 i = 0; i < registers.size(); ++i) {
    const f32* from = tile + i % 2 * kRows + i / 2 * kBlock;
    alignas(64) u32 t[kLanes];
    turn<u32, 2>([&](u32 j) { return from + j / 2 * 2 * kRows + j % 2 * 4; },
                 [&](u32 j) { return t + j * 4; });
    blend(at<u32>(w, registers[i]), t, w.mask);
  }
}
// Of f16: a register has two columns of a row, and 8 rows.
void take_halves(Warp& w, const std::vector<u32>& registers, Tile& tile) {
  for (u32 i = 0; i < registers.size(); ++i) {
    const u32* from = at<const u32>(w, registers[i]);
    alignas(64) u16 columns[kColumns][kBlock];
    turn<u16, 3>([&](u32 j) { return from + j * 4; }, [&](u32 j) { return columns[j]; });
    for (u32 n = 0; n < kColumns; ++n) {
      for (u32 m = 0; m < kBlock; ++m) tile[n * kRows + i * kBlock + m] = F16::widen(columns[n][m]);
    }
  }
}
void give_halves(Warp& w, const std::vector<u32>& registers, const Tile& tile) {
  for (u32 i = 0; i < registers.size(); ++i) {
    alignas(64) u16 columns[kColumns][kBlock];
    for (u32 n = 0; n < kColumns; ++n) {
      for (u32 m = 0; m < kBlock; ++m)
        columns[n][m] = F16::narrow(tile[n * kRows + i * kBlock + m]);
    }
    alignas(64) u32 t[kLanes];
    turn<u16, 3>([&](u32 j) { return columns[j]; }, [&](u32 j) { return t + j * 4; });
    blend(at<u32>(w, registers[i]), t, w.mask);
  }
}

} // namespace
} // namespace gmt::executor
