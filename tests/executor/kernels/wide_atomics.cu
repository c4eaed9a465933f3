// SPDX-License-Identifier: Apache-2.0
// Atomics of several elements at once, of halves, and of 128 bits.
#include "torture.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// A sum and a count, which change together.
__global__ void pairs(u64* cell, u32 n) {
  const u32 i = static_cast<u32>(global_index());
  if (i >= n) return;
  u64 sum = 0, count = 0;
  while (true) {
    u64 old_sum, old_count;
    asm volatile("{ .reg .b128 want, now, old;\n\t"
                 "mov.b128 want, {%3, %4};\n\t"
                 "mov.b128 now, {%5, %6};\n\t"
                 "atom.relaxed.gpu.global.cas.b128 old, [%2], want, now;\n\t"
                 "mov.b128 {%0, %1}, old; }"
                 : "=l"(old_sum), "=l"(old_count)
                 : "l"(cell), "l"(sum), "l"(count), "l"(sum + i), "l"(count + 1)
                 : "memory");
    if (old_sum == sum && old_count == count) return;
    sum = old_sum;
    count = old_count;
  }
}

// Four floats, eight halves and four of bfloat16 by one instruction each, and two with a result.
__global__ void vectors(float* floats, __half2* halves, __nv_bfloat162* brains, float* before) {
  const u32 i = threadIdx.x % 8;
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(floats + 4 * i),
               "f"(1.f), "f"(2.f), "f"(3.f), "f"(4.f)
               : "memory");
  asm volatile(
    "red.relaxed.gpu.global.add.noftz.v4.f16x2 [%0], {%1, %1, %1, %1};" ::"l"(halves + 4 * i),
    "r"(0x3c003c00)
    : "memory");
  asm volatile("red.relaxed.gpu.global.add.noftz.v2.bf16x2 [%0], {%1, %1};" ::"l"(brains + 2 * i),
               "r"(0x3f803f80)
               : "memory");
  float a, b;
  asm volatile("atom.relaxed.gpu.global.add.v2.f32 {%0, %1}, [%2], {%3, %4};"
               : "=f"(a), "=f"(b)
               : "l"(before + 2 * i), "f"(0.5f), "f"(0.25f)
               : "memory");
  if (a < 0 || b < 0) before[16] = a;
}

__global__ void halves(__half* h, __nv_bfloat16* b, __half2* pairs) {
  const u32 i = threadIdx.x % 4;
  atomicAdd(h + i, __float2half(0.5f));
  atomicAdd(b + i, __float2bfloat16(0.25f));
  atomicAdd(pairs + i, __floats2half2_rn(1, 2));
}

int main() {
  const torture::Array<u64> cell(2);
  pairs<<<4, 128>>>(cell, 500);
  torture::expect("128 bits", cell, std::vector<u64>{499 * 250, 500});

  const torture::Array<float> floats(32), before(17);
  const torture::Array<__half2> many(32);
  const torture::Array<__nv_bfloat162> brains(16);
  vectors<<<2, 64>>>(floats, many, brains, before);
  std::vector<float> want(32), sums(16);
  for (int i = 0; i < 32; ++i) want[i] = 16.f * static_cast<float>(i % 4 + 1);
  torture::expect("vectors of floats", floats, want);
  torture::expect("vectors of halves", many, std::vector<__half2>(32, __floats2half2_rn(16, 16)));
  torture::expect("vectors of bfloat16", brains,
                  std::vector<__nv_bfloat162>(16, __floats2bfloat162_rn(16, 16)));
  for (int i = 0; i < 16; ++i) sums[i] = i % 2 == 0 ? 8 : 4;
  std::vector<float> got = before.host();
  got.pop_back();
  torture::expect("vectors with a result", got, sums);

  const torture::Array<__half> h(4);
  const torture::Array<__nv_bfloat16> b(4);
  const torture::Array<__half2> p(4);
  halves<<<1, 64>>>(h, b, p);
  torture::expect("halves", h, std::vector<__half>(4, __float2half(8)));
  torture::expect("bfloat16", b, std::vector<__nv_bfloat16>(4, __float2bfloat16(4)));
  torture::expect("pairs of halves", p, std::vector<__half2>(4, __floats2half2_rn(16, 32)));
  return torture::finish();
}
