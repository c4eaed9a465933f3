// SPDX-License-Identifier: Apache-2.0
// Prefix sums: Hillis and Steele, Blelloch, by shuffles, and one pass over blocks with look-back.
#include "torture.h"

__global__ void scan_hillis(const int* in, int* out) {
  __shared__ int values[2][256];
  const unsigned t = threadIdx.x;
  int from = 0;
  values[0][t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (unsigned step = 1; step < 256; step *= 2) {
    values[1 - from][t] = values[from][t] + (t >= step ? values[from][t - step] : 0);
    from = 1 - from;
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = values[from][t];
}

__global__ void scan_blelloch(const unsigned long long* in, unsigned long long* out) {
  __shared__ unsigned long long values[256];
  const unsigned t = threadIdx.x;
  values[2 * t] = in[2 * t];
  values[2 * t + 1] = in[2 * t + 1];
  unsigned offset = 1;
  for (unsigned d = 128; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) values[offset * (2 * t + 2) - 1] += values[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) values[255] = 0;
  for (unsigned d = 1; d < 256; d *= 2) {
    offset /= 2;
    __syncthreads();
    if (t < d) {
      const unsigned a = offset * (2 * t + 1) - 1;
      const unsigned b = offset * (2 * t + 2) - 1;
      const unsigned long long kept = values[a];
      values[a] = values[b];
      values[b] += kept;
    }
  }
  __syncthreads();
  out[2 * t] = values[2 * t];
  out[2 * t + 1] = values[2 * t + 1];
}

__device__ int warp_scan(int value) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(0xffffffff, value, step);
    if (lane >= step) value += other;
  }
  return value;
}

__device__ int block_scan(int value) {
  __shared__ int sums[32];
  value = warp_scan(value);
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 31) sums[warp] = value;
  __syncthreads();
  if (warp == 0)
    sums[threadIdx.x] = warp_scan(threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0);
  __syncthreads();
  if (warp > 0) value += sums[warp - 1];
  __syncthreads();
  return value;
}

__global__ void scan_shuffled(const int* in, int* out) {
  const int i = global_index();
  out[i] = block_scan(in[i]);
}

// Each block takes a number, publishes its sum, and adds those of the blocks before it: first
// their own sum (state 1), or all up to there (state 2).
__global__ void scan_look_back(const int* in, int* out, unsigned long long* states,
                               unsigned* next_block) {
  __shared__ unsigned shared_block;
  __shared__ int before;
  if (threadIdx.x == 0) shared_block = atomicAdd(next_block, 1u);
  __syncthreads();
  const unsigned block = shared_block;
  const unsigned i = block * blockDim.x + threadIdx.x;
  const int value = block_scan(in[i]);
  if (threadIdx.x == blockDim.x - 1) {
    const unsigned long long own = static_cast<unsigned>(value);
    int sum = 0;
    if (block > 0) {
      atomicExch(states + block, 1ull << 32 | own);
      for (unsigned b = block - 1;; --b) {
        unsigned long long state;
        do {
          state = *static_cast<volatile unsigned long long*>(states + b);
        } while (state >> 32 == 0);
        sum += static_cast<int>(state);
        if (state >> 32 == 2) break;
      }
    }
    atomicExch(states + block, 2ull << 32 | static_cast<unsigned>(sum + value));
    before = sum;
  }
  __syncthreads();
  out[i] = before + value;
}

int main() {
  const int n = 1024;
  const auto in = torture::numbers_below<int>(n, 1, 1000);
  torture::Array<int> din(in), out(n);
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) want[i] = in[i] + (i % 256 == 0 ? 0 : want[i - 1]);
  scan_hillis<<<4, 256>>>(din, out);
  torture::expect("scan_hillis", out, want);
  scan_shuffled<<<4, 256>>>(din, out);
  torture::expect("scan_shuffled", out, want);
  torture::Array<unsigned long long> states(8);
  torture::Array<unsigned> next_block(1);
  for (int i = 0; i < n; ++i) want[i] = in[i] + (i == 0 ? 0 : want[i - 1]);
  scan_look_back<<<8, 128>>>(din, out, states, next_block);
  torture::expect("scan_look_back", out, want);

  const auto wide = torture::numbers<unsigned long long>(256, 2);
  std::vector<unsigned long long> sums(256);
  for (int i = 1; i < 256; ++i) sums[i] = sums[i - 1] + wide[i - 1];
  torture::Array<unsigned long long> dwide(wide), dsums(256);
  scan_blelloch<<<1, 128>>>(dwide, dsums);
  torture::expect("scan_blelloch", dsums, sums);
  return torture::finish();
}
