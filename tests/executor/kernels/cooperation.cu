// SPDX-License-Identifier: Apache-2.0
// Threads that work together: parts of a warp chosen by value, blocks that look back at those
// before them, sorts by shuffles, latches and semaphores, and products of 4-bit weights.
#include "torture.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda_fp16.h>

#include <algorithm>
#include <numeric>

namespace cg = cooperative_groups;
using u64 = std::uint64_t;
using u32 = std::uint32_t;
constexpr u32 kAll = 0xffffffff;

// Sums of the odd and the even, the largest of each remainder, and scans of tiles.
__global__ void groups(const int* in, int* out) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto tile = cg::tiled_partition<8>(warp);
  const int v = in[global_index()];
  const auto alike = cg::binary_partition(warp, v % 2 != 0);
  const auto labelled = cg::labeled_partition(warp, v % 5);
  int* o = out + 6 * global_index();
  o[0] = cg::reduce(alike, v, cg::plus<int>());
  o[1] = static_cast<int>(alike.size());
  o[2] = cg::reduce(labelled, v, cg::greater<int>());
  o[3] = static_cast<int>(labelled.thread_rank());
  o[4] = cg::exclusive_scan(tile, v, cg::plus<int>());
  o[5] = cg::inclusive_scan(tile, v, cg::bit_xor<int>());
}

void test_groups() {
  constexpr int kCount = 1024;
  const auto numbers = torture::numbers_below<int>(kCount, 1, 1000);
  const torture::Array<int> in(numbers), out(6 * kCount);
  groups<<<4, 256>>>(in, out);
  std::vector<int> want(6 * kCount);
  for (int i = 0; i < kCount; ++i) {
    int* o = &want[6 * i];
    const int v = numbers[i];
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) {
      const int other = numbers[k];
      if (other % 2 == v % 2) {
        o[0] += other;
        ++o[1];
      }
      if (other % 5 == v % 5) {
        o[2] = std::max(o[2], other);
        o[3] += k < i;
      }
      if (k / 8 != i / 8 || k > i) continue;
      if (k < i) o[4] += other;
      o[5] ^= other;
    }
  }
  torture::expect("groups by value", out, want);
}

// Sums of all before: each block adds those that the blocks before it have let know.
__global__ void look_back(const int* in, int* out, u64* states, u32* ticket, int n) {
  constexpr u64 kOwn = 1, kWhole = 2;
  using State = cuda::atomic_ref<u64, cuda::thread_scope_device>;
  __shared__ u32 tile;
  __shared__ int warps[8], before;
  const u32 t = threadIdx.x;
  if (t == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  const int i = static_cast<int>(tile * 256 + t);
  const auto scan = [](u32 lanes, u32 lane, int x) {
    for (u32 step = 1; step < 32; step *= 2) {
      const int left = __shfl_up_sync(lanes, x, step);
      if (lane >= step) x += left;
    }
    return x;
  };
  const int sum = scan(kAll, t % 32, i < n ? in[i] : 0);
  if (t % 32 == 31) warps[t / 32] = sum;
  __syncthreads();
  if (t < 8) warps[t] = scan(0xff, t, warps[t]);
  __syncthreads();
  if (t == 0) {
    const int own = warps[7];
    int all = 0;
    State mine(states[tile]);
    const auto word = [](u64 kind, int x) { return kind << 32 | static_cast<u32>(x); };
    mine.store(word(tile == 0 ? kWhole : kOwn, own), cuda::memory_order_release);
    for (int other = static_cast<int>(tile) - 1; other >= 0;) {
      const u64 state = State(states[other]).load(cuda::memory_order_acquire);
      if (state == 0) {
        __nanosleep(50);
        continue;
      }
      all += static_cast<int>(state);
      if (state >> 32 == kWhole) break;
      --other;
    }
    mine.store(word(kWhole, all + own), cuda::memory_order_release);
    before = all;
  }
  __syncthreads();
  if (i < n) out[i] = before + sum + (t >= 32 ? warps[t / 32 - 1] : 0);
}

void test_look_back() {
  constexpr int kCount = 20000, kTiles = (kCount + 255) / 256;
  const auto numbers = torture::numbers_below<int>(kCount, 2, 100);
  const torture::Array<int> in(numbers), out(kCount);
  const torture::Array<u64> states(kTiles);
  const torture::Array<u32> ticket(1);
  look_back<<<kTiles, 256>>>(in, out, states, ticket, kCount);
  std::vector<int> want(kCount);
  std::partial_sum(numbers.begin(), numbers.end(), want.begin());
  torture::expect("look back", out, want);
}

// Each warp sorts its numbers. Then its lanes meet those of the same key.
__global__ void sorted_warps(u64* data, u32* keys) {
  const u32 lane = threadIdx.x % 32;
  u64 v = data[global_index()];
  for (u32 size = 2; size <= 32; size *= 2) {
    for (u32 step = size / 2; step > 0; step /= 2) {
      const u64 other = __shfl_xor_sync(kAll, v, step);
      const bool rises = (lane & size) == 0, is_low = (lane & step) == 0;
      v = (rises == is_low) == (v < other) ? v : other;
    }
  }
  data[global_index()] = v;
  const u32 same = __match_any_sync(kAll, v & 7), low = static_cast<u32>(v);
  int is_one = 0;
  const u32 whole = __match_all_sync(kAll, 5, &is_one);
  u32* o = keys + 4 * global_index();
  o[0] = same;
  o[1] = whole == kAll && is_one != 0 ? 1 : 0;
  o[2] = __reduce_max_sync(same, low);
  o[3] = __reduce_xor_sync(kAll, low);
}

void test_sorts() {
  auto numbers = torture::numbers<u64>(512, 3);
  const torture::Array<u64> data(numbers);
  const torture::Array<u32> keys(4 * numbers.size());
  sorted_warps<<<4, 128>>>(data, keys);
  std::vector<u32> want(4 * numbers.size());
  for (std::size_t begin = 0; begin < numbers.size(); begin += 32) {
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(first, first + 32);
    for (std::size_t i = begin; i < begin + 32; ++i) {
      u32* o = &want[4 * i];
      o[1] = 1;
      for (std::size_t k = 0; k < 32; ++k) {
        const u64 other = numbers[begin + k];
        o[3] ^= static_cast<u32>(other);
        if (other % 8 != numbers[i] % 8) continue;
        o[0] |= 1u << k;
        o[2] = std::max(o[2], static_cast<u32>(other));
      }
    }
  }
  torture::expect("sorted warps", data, numbers);
  torture::expect("lanes of one key", keys, want);
}

// No more than two warps are inside at a time, and one waits until all have left.
__global__ void latch_and_semaphore(int* out) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 2>;
  __shared__ alignas(Latch) char latch_room[sizeof(Latch)];
  __shared__ alignas(Semaphore) char semaphore_room[sizeof(Semaphore)];
  __shared__ int inside, most, total;
  auto& latch = reinterpret_cast<Latch&>(latch_room);
  auto& semaphore = reinterpret_cast<Semaphore&>(semaphore_room);
  if (threadIdx.x == 0) {
    new (&latch) Latch(96);
    new (&semaphore) Semaphore(2);
    inside = most = total = 0;
  }
  __syncthreads();
  if (threadIdx.x < 96) {
    if (threadIdx.x % 32 == 0) {
      semaphore.acquire();
      atomicMax(&most, atomicAdd(&inside, 1) + 1);
      atomicAdd(&total, static_cast<int>(threadIdx.x));
      __nanosleep(100);
      atomicSub(&inside, 1);
      semaphore.release();
    }
    __syncwarp();
    latch.count_down();
    return;
  }
  latch.wait();
  if (threadIdx.x != 96) return;
  out[2 * blockIdx.x] = total;
  out[2 * blockIdx.x + 1] = most <= 2 ? 1 : 0;
}

void test_latches() {
  const torture::Array<int> out(8);
  latch_and_semaphore<<<4, 128>>>(out);
  torture::expect("latch and semaphore", out, std::vector<int>{96, 1, 96, 1, 96, 1, 96, 1});
}

// Rows of 4-bit weights by a vector that is made 8-bit integers first, by blocks of 32.
struct Weights {
  __half scale;
  std::uint8_t pairs[16];
};
struct Bytes {
  __half scale;
  std::int8_t of[32];
};

__global__ void to_bytes(const float* x, Bytes* out) {
  const float v = x[global_index()];
  float most = std::fabs(v);
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(kAll, most, step));
  const float scale = most / 127;
  Bytes& block = out[blockIdx.x];
  block.of[threadIdx.x] =
    scale == 0 ? std::int8_t{0} : static_cast<std::int8_t>(__float2int_rn(v / scale));
  if (threadIdx.x == 0) block.scale = __float2half(scale);
}

__global__ void rows_by_vector(const Weights* w, const Bytes* x, float* y, int blocks) {
  constexpr int kEights = static_cast<int>(0xf8f8f8f8u); // -8, which weights are too large by
  float sum = 0;
  for (int b = threadIdx.x; b < blocks; b += 32) {
    const Weights& weights = w[blockIdx.x * blocks + b];
    int products = 0;
    for (int k = 0; k < 4; ++k) {
      int pairs, low, high;
      memcpy(&pairs, weights.pairs + 4 * k, 4);
      memcpy(&low, x[b].of + 4 * k, 4);
      memcpy(&high, x[b].of + 16 + 4 * k, 4);
      products = __dp4a(pairs & 0x0f0f0f0f, low, __dp4a(kEights, low, products));
      products = __dp4a(pairs >> 4 & 0x0f0f0f0f, high, __dp4a(kEights, high, products));
    }
    sum += __half2float(weights.scale) * __half2float(x[b].scale) * static_cast<float>(products);
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(kAll, sum, step);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

void test_weights() {
  constexpr int kBlocks = 40, kRows = 24;
  const auto pairs = torture::numbers<std::uint8_t>(kRows * kBlocks * 16, 4);
  std::vector<Weights> weights(kRows * kBlocks);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    weights[i / 16].scale = __float2half(0.25f);
    weights[i / 16].pairs[i % 16] = pairs[i];
  }
  auto vector = torture::numbers_below<float>(kBlocks * 32, 5, 255);
  for (float& x : vector) x = (x - 127) / 2;
  for (int b = 0; b < kBlocks; ++b) vector[b * 32] = 63.5f; // so that the scale is 0.5
  const torture::Array<Weights> w(weights);
  const torture::Array<float> x(vector), y(kRows);
  const torture::Array<Bytes> bytes(kBlocks);
  to_bytes<<<kBlocks, 32>>>(x, bytes);
  rows_by_vector<<<kRows, 32>>>(w, bytes, y, kBlocks);
  std::vector<float> want(kRows);
  for (int i = 0; i < kRows * kBlocks * 32; ++i) {
    const int b = i / 32, k = i % 32, pair = pairs[b * 16 + k % 16];
    const int weight = (k < 16 ? pair & 15 : pair >> 4) - 8;
    want[b / kBlocks] += 0.25f * static_cast<float>(weight) * vector[b % kBlocks * 32 + k];
  }
  torture::expect("rows of 4-bit weights", y, want);
}

int main() {
  test_groups();
  test_look_back();
  test_sorts();
  test_latches();
  test_weights();
  return torture::finish();
}
