// SPDX-License-Identifier: Apache-2.0
// Barriers: with counts and votes, named ones for some warps, arrive and wait, in loops, of warps.
#include "torture.h"

__global__ void barrier_votes(const int* in, int* out) {
  const int value = in[threadIdx.x];
  out[3 * threadIdx.x] = __syncthreads_count(value % 2 == 0);
  out[3 * threadIdx.x + 1] = __syncthreads_and(value >= 0) != 0;
  out[3 * threadIdx.x + 2] = __syncthreads_or(value > 990) != 0;
}

// Two pairs of warps meet at barriers of their own.
__global__ void named_barriers(int* out) {
  __shared__ int values[128];
  const unsigned pair = threadIdx.x / 64;
  for (int round = 0; round < 4; ++round) {
    values[threadIdx.x] = static_cast<int>(threadIdx.x) * 10 + round;
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    out[threadIdx.x] += values[pair * 64 + (threadIdx.x + 33) % 64];
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
  }
}

// Producers arrive and go on; the consumer waits.
__global__ void arrive_and_wait(int* out) {
  __shared__ int values[64];
  if (threadIdx.x < 64) {
    values[threadIdx.x] = static_cast<int>(threadIdx.x) + 7;
    __threadfence_block();
    asm volatile("bar.arrive 3, 96;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 96;" ::: "memory");
    const unsigned t = threadIdx.x - 64;
    out[t] = values[t] + values[t + 32];
  }
}

// Threads that have left do not count.
__global__ void early_exit(int* out) {
  __shared__ int values[96];
  if (threadIdx.x >= 64) return;
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = values[63 - threadIdx.x];
}

__global__ void warp_barriers(int* out) {
  __shared__ int values[64];
  const unsigned t = threadIdx.x;
  const unsigned base = t / 32 * 32;
  int mine = static_cast<int>(t);
  for (unsigned step = 1; step < 32; step *= 2) {
    values[t] = mine;
    __syncwarp();
    const int other = values[base + ((t - base) ^ step)];
    __syncwarp();
    mine += other;
  }
  out[t] = mine;
}

// Half of a warp works together while the other half does something else.
__global__ void partial_warp_barrier(int* out) {
  __shared__ int values[32];
  const unsigned lane = threadIdx.x;
  if (lane < 16) {
    values[lane] = static_cast<int>(lane) * 4;
    __syncwarp(0x0000ffff);
    out[lane] = values[15 - lane];
  } else {
    values[lane] = static_cast<int>(lane) * 9;
    __syncwarp(0xffff0000);
    out[lane] = values[47 - lane];
  }
}

__global__ void barrier_in_a_loop(int* data, int rounds) {
  __shared__ int line[66];
  const unsigned t = threadIdx.x + 1;
  if (t == 1) line[0] = line[65] = 0;
  line[t] = data[t - 1];
  for (int i = 0; i < rounds; ++i) {
    __syncthreads();
    const int next = (line[t - 1] + line[t] * 2 + line[t + 1]) % 10007;
    __syncthreads();
    line[t] = next;
  }
  data[t - 1] = line[t];
}

int main() {
  const auto in = torture::numbers_below<int>(96, 1, 1000);
  int even = 0;
  bool large = false;
  for (const int value : in) {
    even += value % 2 == 0;
    large = large || value > 990;
  }
  std::vector<int> want(3 * 96);
  for (int t = 0; t < 96; ++t) {
    want[3 * t] = even;
    want[3 * t + 1] = 1;
    want[3 * t + 2] = large;
  }
  torture::Array<int> din(in), out(3 * 96), named(128), sums(32), early(64), warps(64), half(32);
  barrier_votes<<<1, 96>>>(din, out);
  torture::expect("barrier_votes", out, want);
  want.assign(128, 0);
  for (int t = 0; t < 128; ++t) {
    for (int round = 0; round < 4; ++round) want[t] += (t / 64 * 64 + (t + 33) % 64) * 10 + round;
  }
  named_barriers<<<1, 128>>>(named);
  torture::expect("named_barriers", named, want);
  want.resize(32);
  for (int t = 0; t < 32; ++t) want[t] = 2 * t + 46;
  arrive_and_wait<<<1, 96>>>(sums);
  torture::expect("arrive_and_wait", sums, want);
  want.resize(64);
  for (int t = 0; t < 64; ++t) want[t] = 63 - t;
  early_exit<<<1, 96>>>(early);
  torture::expect("early_exit", early, want);
  for (int t = 0; t < 64; ++t) want[t] = t < 32 ? 496 : 496 + 32 * 32;
  warp_barriers<<<1, 64>>>(warps);
  torture::expect("warp_barriers", warps, want);
  want.resize(32);
  for (int t = 0; t < 32; ++t) want[t] = t < 16 ? (15 - t) * 4 : (47 - t) * 9;
  partial_warp_barrier<<<1, 32>>>(half);
  torture::expect("partial_warp_barrier", half, want);
  std::vector<int> line(66);
  auto start = torture::numbers_below<int>(64, 2, 100);
  torture::Array<int> dline(start);
  for (int t = 0; t < 64; ++t) line[t + 1] = start[t];
  for (int i = 0; i < 20; ++i) {
    std::vector<int> next(66);
    for (int t = 1; t <= 64; ++t) next[t] = (line[t - 1] + line[t] * 2 + line[t + 1]) % 10007;
    line = next;
  }
  barrier_in_a_loop<<<1, 64>>>(dline, 20);
  torture::expect("barrier_in_a_loop", dline, std::vector<int>(line.begin() + 1, line.end() - 1));
  return torture::finish();
}
