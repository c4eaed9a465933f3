// SPDX-License-Identifier: Apache-2.0
// Blocks that wait for each other through global memory, and warps through shared memory.
#include "torture.h"

// Block b waits for block b - 1: blocks are started in order.
__global__ void chain_of_blocks(volatile int* values, volatile int* ready) {
  if (threadIdx.x == 0) {
    int before = 1;
    if (blockIdx.x > 0) {
      while (ready[blockIdx.x - 1] == 0) {
      }
      __threadfence();
      before = values[blockIdx.x - 1];
    }
    values[blockIdx.x] = before * 3 % 1009;
    __threadfence();
    ready[blockIdx.x] = 1;
  }
}

// Block 0 writes, block 1 reads, through a ring of four.
__global__ void ring_of_two_blocks(volatile int* ring, volatile int* written, volatile int* read,
                                   int* out, int n) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < n; ++i) {
    if (blockIdx.x == 0) {
      while (i - *read >= 4) {
      }
      ring[i % 4] = i * i;
      __threadfence();
      *written = i + 1;
    } else {
      while (*written <= i) {
      }
      __threadfence();
      out[i] = ring[i % 4] + 1;
      __threadfence();
      *read = i + 1;
    }
  }
}

// The last block that is done adds what all have found.
__global__ void last_block_sums(const int* in, int* parts, unsigned* done, int* out) {
  __shared__ int values[64];
  __shared__ bool last;
  const unsigned t = threadIdx.x;
  values[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  for (unsigned half = 32; half > 0; half /= 2) {
    if (t < half) values[t] += values[t + half];
    __syncthreads();
  }
  if (t == 0) {
    parts[blockIdx.x] = values[0];
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || t != 0) return;
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += *static_cast<volatile int*>(parts + b);
  *out = sum;
}

// Warp 0 produces, the others consume, by flags in shared memory.
__global__ void warps_by_flags(int* out) {
  __shared__ volatile int slot[4];
  __shared__ volatile int full[4];
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x < 4) full[threadIdx.x] = 0;
  __syncthreads();
  if (warp == 0) {
    if (threadIdx.x == 0) {
      for (int w = 1; w < 4; ++w) {
        slot[w] = w * 11;
        __threadfence_block();
        full[w] = 1;
      }
    }
  } else {
    while (full[warp] == 0) {
    }
    __threadfence_block();
    out[threadIdx.x] = slot[warp];
  }
}

// Acquire and release instead of fences.
__global__ void acquire_release(int* data, int* flag, int* out) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 5 * static_cast<int>(threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
  } else {
    int seen = 0;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (seen == 0);
    out[threadIdx.x] = data[31 - threadIdx.x];
  }
}

int main() {
  torture::Array<int> values(30), ready(30);
  std::vector<int> want(30);
  for (int i = 0; i < 30; ++i) want[i] = (i == 0 ? 1 : want[i - 1]) * 3 % 1009;
  chain_of_blocks<<<30, 32>>>(values.get(), ready.get());
  torture::expect("chain_of_blocks", values, want);

  const int n = 50;
  torture::Array<int> ring(4), written(1), read(1), out(n);
  want.resize(n);
  for (int i = 0; i < n; ++i) want[i] = i * i + 1;
  ring_of_two_blocks<<<2, 32>>>(ring.get(), written.get(), read.get(), out.get(), n);
  torture::expect("ring_of_two_blocks", out, want);

  const auto in = torture::numbers_below<int>(640, 1, 10000);
  int sum = 0;
  for (const int value : in) sum += value;
  torture::Array<int> din(in), parts(10), total(1);
  torture::Array<unsigned> done(1);
  last_block_sums<<<10, 64>>>(din, parts, done, total);
  torture::expect("last_block_sums", total, {sum});

  torture::Array<int> slots(128);
  want.assign(128, 0);
  for (int t = 32; t < 128; ++t) want[t] = t / 32 * 11;
  warps_by_flags<<<1, 128>>>(slots);
  torture::expect("warps_by_flags", slots, want);

  torture::Array<int> data(32), flag(1), copied(32);
  want.resize(32);
  for (int t = 0; t < 32; ++t) want[t] = 5 * (31 - t);
  acquire_release<<<2, 32>>>(data, flag, copied);
  torture::expect("acquire_release", copied, want);
  return torture::finish();
}
