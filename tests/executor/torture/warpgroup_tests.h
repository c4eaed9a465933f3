// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of warpgroups.h.
#pragma once

#include "warpgroups.h"

namespace warpgroups {

constexpr int kM = 128, kN = 128, kBytes = 384;

template <class T> CUtensorMapDataType type_of() {
  if constexpr (std::is_same_v<T, __half>) return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  else if constexpr (std::is_same_v<T, __nv_bfloat16>) return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  else if constexpr (std::is_same_v<T, float>) return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  else if constexpr (std::is_same_v<T, int>) return CU_TENSOR_MAP_DATA_TYPE_INT32;
  else if constexpr (std::is_same_v<T, u32>) return CU_TENSOR_MAP_DATA_TYPE_UINT32;
  else return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}
inline CUtensorMapSwizzle swizzle_of(int row) {
  return row == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : row == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
         : row == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                     : CU_TENSOR_MAP_SWIZZLE_NONE;
}
// A matrix by rows, and boxes of so many bytes and rows.
template <class T> CUtensorMap rows_map(const T* memory, int rows, int columns, int box_bytes,
                                        int box_rows, bool plain = false) {
  const u32 width = static_cast<u32>(box_bytes / sizeof(T));
  return tma::map_of(memory, type_of<T>(),
                     {{u64(columns), u64(rows)},
                      {columns * sizeof(T)},
                      {width, u32(box_rows)},
                      plain ? CU_TENSOR_MAP_SWIZZLE_NONE : swizzle_of(box_bytes)});
}
template <class T> std::vector<T> matrix(std::size_t count, u64 seed) {
  auto all = torture::operands<T>(count, seed);
  if constexpr (std::is_same_v<T, u8>) { // finite as 8-bit floats
    for (u8& each : all) each &= 0xbf;
  }
  return all;
}

template <class Mma, int row = 128, int kStages = 3> void test_plain(const char* name) {
  if (!torture::is_wanted(name)) return;
  using In = typename Mma::In;
  constexpr int kColumns = kBytes / sizeof(In), kSums = kM * kN * Mma::kSums * 2 / Mma::kWidth;
  const torture::Array<In> a(matrix<In>(kM * kColumns, 111)), b(matrix<In>(kN * kColumns, 112));
  torture::Array<typename Mma::Sum> c(kSums);
  torture::launch(plain<Mma, row, kStages>, dim3(kN / Mma::kWidth, kM / 64), 128,
                  kStages * (64 + Mma::kWidth) * 128, 1, rows_map<In>(a, kM, kColumns, row, 64),
                  rows_map<In>(b, kN, kColumns, row, Mma::kWidth), c.get(), kN, kBytes);
  torture::compare(name, c);
}
template <class Mma, bool both> void test_turned(const char* name) {
  if (!torture::is_wanted(name)) return;
  using In = typename Mma::In;
  const torture::Array<In> a(matrix<In>(kM * 192, 113)), b(matrix<In>(192 * kN, 114));
  torture::Array<float> c(kM * kN);
  const auto map_a = both ? rows_map<In>(a, 192, kM, 128, 64) : rows_map<In>(a, kM, 192, 128, 64);
  torture::launch(turned<Mma, both>, dim3(kN / 64, kM / 64), 128, 2 * 64 * 128, 1, map_a,
                  rows_map<In>(b, 192, kN, 128, 64), c.get(), kN, 192);
  torture::compare(name, c);
}
template <class Mma, Ends ends, int kBlocks> void test_specialized(const char* name) {
  if (!torture::is_wanted(name)) return;
  using In = typename Mma::In;
  using Sum = typename Mma::Sum;
  constexpr int kColumns = 512 / sizeof(In), kWide = 256;
  const torture::Array<In> a(matrix<In>(kM * kColumns, 115)), b(matrix<In>(kWide * kColumns, 116));
  torture::Array<Sum> c(kM * kWide);
  const dim3 grid = ends == Ends::kAdded ? dim3(4, 1, 2) : dim3(kBlocks == 1 ? 2 : kBlocks, 1, 1);
  torture::launch(specialized<Mma, ends, kBlocks>, grid, 384, 3 * 192 * 128 + 128 * 64 * 4, kBlocks,
                  rows_map<In>(a, kM, kColumns, 128, 128 / kBlocks),
                  rows_map<In>(b, kWide, kColumns, 128, 64),
                  rows_map<Sum>(c, kM, kWide, 256, 64, true), kWide / 64, 512);
  torture::compare(name, c);
}

inline void test() {
  test_plain<HalfF32>("warpgroup.f16");
  test_plain<HalfHalf>("warpgroup.f16 in f16");
  test_plain<BfloatF32>("warpgroup.bf16");
  test_plain<Negated>("warpgroup.negated");
  test_plain<Tf32>("warpgroup.tf32");
  test_plain<E4m3>("warpgroup.e4m3");
  test_plain<E5m2>("warpgroup.e5m2");
  test_plain<E4m3E5m2>("warpgroup.e4m3 e5m2");
  test_plain<S8>("warpgroup.s8");
  test_plain<U8S8>("warpgroup.u8 s8");
  test_plain<Narrow>("warpgroup.8 columns");
  test_plain<HalfF32, 64>("warpgroup.rows of 64 bytes");
  test_plain<HalfF32, 32, 2>("warpgroup.rows of 32 bytes");
  test_plain<HalfF32, 16, 2>("warpgroup.core matrices");
  test_turned<ByRows, false>("warpgroup.B by rows");
  test_turned<BothTurned, true>("warpgroup.both turned");
  test_specialized<HalfF32, Ends::kStored, 1>("warpgroup.tasks");
  test_specialized<BfloatF32, Ends::kStored, 2>("warpgroup.tasks, cluster of 2");
  test_specialized<S8, Ends::kStored, 4>("warpgroup.tasks, cluster of 4");
  test_specialized<S8, Ends::kAdded, 1>("warpgroup.parts added, s8");
  test_specialized<Tf32, Ends::kAdded, 1>("warpgroup.parts added, tf32");
  const torture::Array<__half> a(matrix<__half>(kM * 192, 117)), b(matrix<__half>(kN * 192, 118)),
    v(matrix<__half>(kN * 192, 119));
  torture::Array<float> c(kM * kN), out(kM * 64);
  torture::launch(scaled_in_registers, dim3(2, 2), 128, 64 * 128, 1,
                  rows_map<__half>(b, kN, 192, 128, 64), a.get(), c.get(), kN, 192);
  torture::compare("warpgroup.A in registers", c);
  for (const bool causal : {false, true}) {
    torture::launch(attention, 2, 128, 5 * 8192, 1, rows_map<__half>(a, 128, 64, 128, 64),
                    rows_map<__half>(b, 192, 64, 128, 64), rows_map<__half>(v, 192, 64, 128, 64),
                    out.get(), causal ? 128 : 192, causal);
    torture::compare(causal ? "warpgroup.attention, causal" : "warpgroup.attention", out);
  }
}

} // namespace warpgroups
