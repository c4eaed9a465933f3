// SPDX-License-Identifier: Apache-2.0
// Votes, matches, masks of lanes, and reductions over a warp in one instruction.
#include "torture.h"

constexpr unsigned kAll = 0xffffffff;

__global__ void votes(const int* in, unsigned* out) {
  const int value = in[threadIdx.x];
  unsigned* o = out + 4 * threadIdx.x;
  o[0] = __ballot_sync(kAll, value & 1);
  o[1] = static_cast<unsigned>(__any_sync(kAll, value % 50 == 0));
  o[2] = static_cast<unsigned>(__all_sync(kAll, value >= 0));
  int uniform;
  asm volatile(
    "{ .reg .pred p, q; setp.gt.s32 p, %1, 500; vote.sync.uni.pred q, p, -1; selp.s32 %0, 1, 0, q; }"
    : "=r"(uniform)
    : "r"(value));
  o[3] = static_cast<unsigned>(uniform);
}

__global__ void matches(const int* in, unsigned* out) {
  int same;
  out[3 * threadIdx.x] = __match_any_sync(kAll, in[threadIdx.x] % 4);
  out[3 * threadIdx.x + 1] =
    __match_all_sync(kAll, in[threadIdx.x / 32 * 32] % 3, &same) + static_cast<unsigned>(same);
  out[3 * threadIdx.x + 2] =
    __match_any_sync(kAll, static_cast<long long>(in[threadIdx.x] % 3) << 40);
}

__global__ void lane_masks(unsigned* out) {
  unsigned* o = out + 6 * threadIdx.x;
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(o[0]));
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(o[1]));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(o[2]));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(o[3]));
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(o[4]));
  asm("mov.u32 %0, %%laneid;" : "=r"(o[5]));
}

// A vote inside of a branch, by those that are there.
__global__ void divided_vote(const int* in, unsigned* out) {
  const unsigned odd = __ballot_sync(kAll, in[threadIdx.x] & 1);
  if (in[threadIdx.x] & 1) {
    out[threadIdx.x] = __ballot_sync(odd, in[threadIdx.x] > 500);
  } else {
    out[threadIdx.x] = __ballot_sync(~odd, in[threadIdx.x] > 500) | 0;
  }
}

// Positions in a row, by the bits below a lane.
__global__ void compact(const int* in, int* out, int* count) {
  const bool keep = in[threadIdx.x] % 3 == 0;
  const unsigned kept = __ballot_sync(kAll, keep);
  const unsigned lane = threadIdx.x % 32;
  int base = 0;
  if (lane == 0) base = atomicAdd(count, __popc(kept));
  base = __shfl_sync(kAll, base, 0);
  if (keep) out[base + __popc(kept & ((1u << lane) - 1))] = in[threadIdx.x];
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__global__ void warp_reductions(const int* in, unsigned* out) {
  const int value = in[threadIdx.x];
  unsigned* o = out + 6 * threadIdx.x;
  o[0] = __reduce_add_sync(kAll, static_cast<unsigned>(value));
  o[1] = static_cast<unsigned>(__reduce_min_sync(kAll, value));
  o[2] = __reduce_max_sync(kAll, static_cast<unsigned>(value));
  o[3] = __reduce_and_sync(kAll, static_cast<unsigned>(value));
  o[4] = __reduce_or_sync(kAll, static_cast<unsigned>(value));
  o[5] = __reduce_xor_sync(kAll, static_cast<unsigned>(value));
}
#else
__global__ void warp_reductions(const int*, unsigned*) {}
#endif

int main() {
  const int n = 64;
  auto in = torture::numbers_below<int>(n, 1, 1000);
  in[40] = 100;
  torture::Array<int> din(in), kept(n), count(1);
  torture::Array<unsigned> four(4 * n), three(3 * n), six(6 * n), one(n);
  std::vector<unsigned> want(4 * n);
  const auto ballot = [&](int warp, auto f) {
    unsigned bits = 0;
    for (int lane = 0; lane < 32; ++lane) bits |= (f(in[warp * 32 + lane]) ? 1u : 0u) << lane;
    return bits;
  };
  for (int t = 0; t < n; ++t) {
    want[4 * t] = ballot(t / 32, [](int v) { return v & 1; });
    want[4 * t + 1] = ballot(t / 32, [](int v) { return v % 50 == 0; }) != 0;
    want[4 * t + 2] = 1;
    const unsigned greater = ballot(t / 32, [](int v) { return v > 500; });
    want[4 * t + 3] = greater == 0 || greater == kAll;
  }
  votes<<<1, n>>>(din, four);
  torture::expect("votes", four, want);

  want.resize(3 * n);
  for (int t = 0; t < n; ++t) {
    want[3 * t] = ballot(t / 32, [&](int v) { return v % 4 == in[t] % 4; });
    want[3 * t + 1] = kAll + 1;
    want[3 * t + 2] = ballot(t / 32, [&](int v) { return v % 3 == in[t] % 3; });
  }
  matches<<<1, n>>>(din, three);
  torture::expect("matches", three, want);

  want.resize(6 * n);
  for (int t = 0; t < n; ++t) {
    const unsigned bit = 1u << (t % 32);
    const unsigned masks[] = {bit,        bit | (bit - 1),   bit - 1,
                              ~(bit - 1), ~(bit - 1) & ~bit, static_cast<unsigned>(t % 32)};
    for (int k = 0; k < 6; ++k) want[6 * t + k] = masks[k];
  }
  lane_masks<<<1, n>>>(six);
  torture::expect("lane_masks", six, want);

  want.resize(n);
  for (int t = 0; t < n; ++t)
    want[t] = ballot(t / 32, [&](int v) { return v > 500 && (v & 1) == (in[t] & 1); });
  divided_vote<<<1, n>>>(din, one);
  torture::expect("divided_vote", one, want);

  compact<<<1, n>>>(din, kept, count);
  int multiples = 0;
  long long sum = 0;
  for (const int v : in) {
    multiples += v % 3 == 0;
    sum += v % 3 == 0 ? v : 0;
  }
  const auto values = kept.host();
  for (const int v : values) sum -= v;
  torture::report("compact", count.host()[0] == multiples && sum == 0);

  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, warp_reductions));
  if (attributes.ptxVersion < 80) return torture::finish();
  want.resize(6 * n);
  for (int t = 0; t < n; ++t) {
    unsigned results[6] = {0, 0x7fffffff, 0, kAll, 0, 0};
    for (int lane = 0; lane < 32; ++lane) {
      const unsigned v = static_cast<unsigned>(in[t / 32 * 32 + lane]);
      results[0] += v;
      results[1] = v < results[1] ? v : results[1];
      results[2] = v > results[2] ? v : results[2];
      results[3] &= v;
      results[4] |= v;
      results[5] ^= v;
    }
    for (int k = 0; k < 6; ++k) want[6 * t + k] = results[k];
  }
  warp_reductions<<<1, n>>>(din, six);
  torture::expect("warp_reductions", six, want);
  return torture::finish();
}
