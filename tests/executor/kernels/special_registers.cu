// SPDX-License-Identifier: Apache-2.0
// Registers that each thread can read: its position in block, grid and warp; clocks; sleeping.
#include "torture.h"

__global__ void positions(unsigned* out) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned* o = out + 4 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
  unsigned lane, size;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, WARP_SZ;" : "=r"(size));
  o[0] = thread;
  o[1] = block;
  o[2] = lane;
  o[3] = size + gridDim.y * 100 + blockDim.z * 1000;
}

__global__ void clocks(int* out) {
  const long long begin = clock64();
  const clock_t short_begin = clock();
  unsigned long long timer, later;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
  int sum = 0;
  for (int k = 0; k < 100; ++k) {
    sum += k * static_cast<int>(threadIdx.x);
    __nanosleep(100);
  }
  const long long end = clock64();
  const clock_t short_end = clock();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
  out[2 * threadIdx.x] = sum;
  out[2 * threadIdx.x + 1] = end > begin && short_end != short_begin && later >= timer;
}

// All warps of a block are on one processor, which exists.
__global__ void processors(int* out) {
  unsigned sm, sms, warp, warps;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(sms));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(warps));
  __shared__ unsigned seen;
  if (threadIdx.x == 0) seen = sm;
  __syncthreads();
  out[threadIdx.x] = sm < sms && warp < warps && seen == sm;
}

int main() {
  const unsigned threads = 5 * 3 * 2, blocks = 2 * 3 * 2;
  torture::Array<unsigned> out(4 * threads * blocks);
  std::vector<unsigned> want(4 * threads * blocks);
  for (unsigned i = 0; i < threads * blocks; ++i) {
    want[4 * i] = i % threads;
    want[4 * i + 1] = i / threads;
    want[4 * i + 2] = i % threads % 32;
    want[4 * i + 3] = 32 + 300 + 2000;
  }
  positions<<<dim3(2, 3, 2), dim3(5, 3, 2)>>>(out);
  torture::expect("positions", out, want);
  torture::Array<int> times(64), same(96);
  std::vector<int> want_times(64);
  for (int t = 0; t < 32; ++t) {
    want_times[2 * t] = 4950 * t;
    want_times[2 * t + 1] = 1;
  }
  clocks<<<1, 32>>>(times);
  torture::expect("clocks", times, want_times);
  processors<<<2, 96>>>(same);
  torture::expect("processors", same, std::vector<int>(96, 1));
  return torture::finish();
}
