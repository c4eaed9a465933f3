// SPDX-License-Identifier: Apache-2.0
// Functions for dynamic programming (DPX), which the host has as well: minimums and maximums of
// three, of sums, of halves of words, with a limit of 0, and which of two it was.
#include "torture.h"

using u32 = unsigned;

constexpr int kFunctions = 40;

// What all of them give for three words, one behind the other.
__host__ __device__ void all_of(u32 x, u32 y, u32 z, u32* out) {
  const int a = static_cast<int>(x), b = static_cast<int>(y), c = static_cast<int>(z);
  bool high = false, low = false;
  const auto put = [&](auto value) { *out++ = static_cast<u32>(value); };
  const auto put_which = [&] { put(2 * high + low); };
  put(__vimax3_s32(a, b, c));
  put(__vimax3_s16x2(x, y, z));
  put(__vimax3_u32(x, y, z));
  put(__vimax3_u16x2(x, y, z));
  put(__vimin3_s32(a, b, c));
  put(__vimin3_s16x2(x, y, z));
  put(__vimin3_u32(x, y, z));
  put(__vimin3_u16x2(x, y, z));
  put(__vimax3_s32_relu(a, b, c));
  put(__vimax3_s16x2_relu(x, y, z));
  put(__vimin3_s32_relu(a, b, c));
  put(__vimin3_s16x2_relu(x, y, z));
  put(__vimax_s32_relu(a, b));
  put(__vimax_s16x2_relu(x, y));
  put(__vimin_s32_relu(a, b));
  put(__vimin_s16x2_relu(x, y));
  put(__viaddmax_s32(a, b, c));
  put(__viaddmax_s16x2(x, y, z));
  put(__viaddmax_u32(x, y, z));
  put(__viaddmax_u16x2(x, y, z));
  put(__viaddmin_s32(a, b, c));
  put(__viaddmin_s16x2(x, y, z));
  put(__viaddmin_u32(x, y, z));
  put(__viaddmin_u16x2(x, y, z));
  put(__viaddmax_s32_relu(a, b, c));
  put(__viaddmax_s16x2_relu(x, y, z));
  put(__viaddmin_s32_relu(a, b, c));
  put(__viaddmin_s16x2_relu(x, y, z));
  put(__vibmax_s32(a, b, &low));
  put_which();
  put(__vibmin_u32(x, y, &low));
  put_which();
  put(__vibmax_s16x2(x, y, &high, &low));
  put_which();
  put(__vibmax_u16x2(x, y, &high, &low));
  put_which();
  put(__vibmin_s16x2(x, y, &high, &low));
  put_which();
  put(__vibmin_u16x2(x, y, &high, &low));
  put_which();
}

__global__ void all(const u32* in, u32* out, int n) {
  const int i = global_index();
  if (i < n) all_of(in[i], in[(i + 1) % n], in[(i + 2) % n], out + kFunctions * i);
}

int main() {
  auto words = torture::numbers<u32>(1000, 1);
  for (std::size_t i = 0; i < words.size(); i += 7) words[i] = words[(i + 1) % words.size()];
  for (std::size_t i = 3; i < words.size(); i += 11) words[i] &= 0xffff0000u;
  const int n = static_cast<int>(words.size());
  const torture::Array<u32> in(words), out(kFunctions * words.size());
  all<<<(n + 127) / 128, 128>>>(in, out, n);
  std::vector<u32> want(kFunctions * words.size());
  for (int i = 0; i < n; ++i)
    all_of(words[i], words[(i + 1) % n], words[(i + 2) % n], want.data() + kFunctions * i);
  torture::expect("functions for dynamic programming", out, want);
  return torture::finish();
}
