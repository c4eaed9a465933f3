// SPDX-License-Identifier: Apache-2.0
// Instructions of warpgroups: products of each type, their fences and groups, and descriptors of
// tiles in shared memory.
#pragma once

#include "tma.h"

namespace warpgroups {

#define R4(a, b, c, d) "%" #a ",%" #b ",%" #c ",%" #d
#define SUMS_4 R4(0, 1, 2, 3)
#define SUMS_16 R4(0, 1, 2, 3) "," R4(4, 5, 6, 7) "," R4(8, 9, 10, 11) "," R4(12, 13, 14, 15)
#define SUMS_32                                                                                    \
  SUMS_16                                                                                          \
  "," R4(16, 17, 18, 19) "," R4(20, 21, 22, 23) "," R4(24, 25, 26, 27) "," R4(28, 29, 30, 31)
#define D4(l, i) "+" l(d[i]), "+" l(d[i + 1]), "+" l(d[i + 2]), "+" l(d[i + 3])
#define D16(l, i) D4(l, i), D4(l, i + 4), D4(l, i + 8), D4(l, i + 12)

// 64 columns; `more` has what follows the descriptors: whether to add, signs, which side is turned.
#define WIDE(name, type, element, text, letter, more)                                              \
  struct name {                                                                                    \
    using Sum = type;                                                                              \
    using In = element;                                                                            \
    static constexpr int kWidth = 64, kSums = 32;                                                  \
    __device__ static void add(Sum* d, u64 a, u64 b) {                                             \
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k" text " {" SUMS_32 "}, %32, %33, " more   \
                   ";"                                                                             \
                   : D16(letter, 0), D16(letter, 16)                                               \
                   : "l"(a), "l"(b));                                                              \
    }                                                                                              \
  };
WIDE(HalfF32, float, __half, "16.f32.f16.f16", "f", "1, 1, 1, 0, 0")
WIDE(BfloatF32, float, __nv_bfloat16, "16.f32.bf16.bf16", "f", "1, 1, 1, 0, 0")
WIDE(Negated, float, __half, "16.f32.f16.f16", "f", "1, -1, 1, 0, 0")
WIDE(ByRows, float, __half, "16.f32.f16.f16", "f", "1, 1, 1, 0, 1")
WIDE(BothTurned, float, __nv_bfloat16, "16.f32.bf16.bf16", "f", "1, 1, -1, 1, 1")
WIDE(Tf32, float, float, "8.f32.tf32.tf32", "f", "1, 1, 1")
WIDE(E4m3, float, u8, "32.f32.e4m3.e4m3", "f", "1, 1, 1")
WIDE(E5m2, float, u8, "32.f32.e5m2.e5m2", "f", "1, 1, 1")
WIDE(E4m3E5m2, float, u8, "32.f32.e4m3.e5m2", "f", "1, 1, 1")
WIDE(S8, int, u8, "32.s32.s8.s8", "r", "1")
WIDE(U8S8, int, u8, "32.s32.u8.s8", "r", "1")
#undef WIDE
struct HalfHalf {
  using Sum = u32;
  using In = __half;
  static constexpr int kWidth = 64, kSums = 16;
  __device__ static void add(Sum* d, u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16 {" SUMS_16
                 "}, %16, %17, 1, 1, 1, 0, 0;"
                 : D16("r", 0)
                 : "l"(a), "l"(b));
  }
};
struct Narrow { // 8 columns
  using Sum = float;
  using In = __half;
  static constexpr int kWidth = 8, kSums = 4;
  __device__ static void add(Sum* d, u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {" SUMS_4
                 "}, %4, %5, 1, 1, 1, 0, 0;"
                 : D4("f", 0)
                 : "l"(a), "l"(b));
  }
};
__device__ inline void add_from_registers(float* d, const u32* a, u64 b, bool by_rows) {
  if (by_rows)
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" SUMS_32
                 "}, {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
                 : D16("f", 0), D16("f", 16)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  else
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" SUMS_32
                 "}, {%32,%33,%34,%35}, %36, 1, 1, 1, 0;"
                 : D16("f", 0), D16("f", 16)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef R4
#undef D4
#undef D16

__device__ inline void group_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void group_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int left> __device__ void group_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}
// Rows of 128, 64, 32 bytes, swizzled, or core matrices of 8 x 16 bytes one behind another.
__device__ inline u64 describe(const void* tile, u32 leading, u32 stride, u64 layout) {
  return (shared_address(tile) & 0x3ffff) >> 4 | u64{leading >> 4} << 16 | u64{stride >> 4} << 32 |
         layout << 62;
}
template <int row> __device__ u64 rows_of(const void* tile, int rows) {
  constexpr u64 kLayout = row == 128 ? 1 : row == 64 ? 2 : row == 32 ? 3 : 0;
  return row == 16 ? describe(tile, rows * 16, 128, 0) : describe(tile, 16, row * 8, kLayout);
}
// act(row, column, sum)
template <class Mma, class F> __device__ void each(typename Mma::Sum* sums, F&& act) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  constexpr int kInRow = Mma::kSums * 4 / Mma::kWidth; // sums of a row in 8 columns
  for (int i = 0; i < Mma::kSums; ++i)
    act(warp * 16 + lane / 4 + i / kInRow % 2 * 8, i / kInRow / 2 * 8 + lane % 4 * 2 + i % kInRow,
        sums[i]);
}

} // namespace warpgroups
