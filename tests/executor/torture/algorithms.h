// SPDX-License-Identifier: Apache-2.0
// Reductions, scans, sorts, sparse matrices and what else libraries are made of. Integers where the
// order of sums is open.
#pragma once

#include "recorded.h"

#include <cooperative_groups.h>

namespace algorithms {

namespace cg = cooperative_groups;

template <class T, class F> __device__ T block_reduced(T value, F f, T* scratch) {
  for (int step = 16; step > 0; step /= 2) value = f(value, __shfl_down_sync(~0u, value, step));
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[threadIdx.x % 32 % (blockDim.x / 32)];
  for (int step = blockDim.x / 64; step > 0; step /= 2)
    value = f(value, __shfl_down_sync(~0u, value, step));
  __syncthreads();
  return __shfl_sync(~0u, value, 0);
}
struct Plus {
  template <class T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct Most {
  template <class T> __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
struct Xor {
  template <class T> __device__ T operator()(T a, T b) const { return a ^ b; }
};

template <class T, class F> __global__ void reduce_rows(const T* in, T* out, int columns) {
  __shared__ T scratch[32];
  T value = in[blockIdx.x * columns + threadIdx.x];
  for (int i = threadIdx.x + blockDim.x; i < columns; i += blockDim.x)
    value = F()(value, in[blockIdx.x * columns + i]);
  value = block_reduced(value, F(), scratch);
  if (threadIdx.x == 0) out[blockIdx.x] = value;
}

// The last block of the grid sums what the others left.
__global__ void last_block(const float* in, float* parts, float* out, u32* done, int count) {
  __shared__ float scratch[32];
  __shared__ bool is_last;
  float sum = 0;
  for (int i = global_index(); i < count; i += gridDim.x * blockDim.x) sum += in[i];
  sum = block_reduced(sum, Plus(), scratch);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  sum = threadIdx.x < gridDim.x ? reinterpret_cast<volatile float*>(parts)[threadIdx.x] : 0.f;
  sum = block_reduced(sum, Plus(), scratch);
  if (threadIdx.x == 0) *out = sum;
}

// Mean and variance by Welford's and Chan's formulas.
struct Moments {
  float mean, squares;
  int count;
};
__device__ inline Moments joined(const Moments& a, const Moments& b) {
  const int n = a.count + b.count;
  if (n == 0) return a;
  const float d = b.mean - a.mean,
              part = __fdiv_rn(static_cast<float>(b.count), static_cast<float>(n));
  return {fmaf(d, part, a.mean),
          a.squares + b.squares + d * d * (static_cast<float>(a.count) * part), n};
}
__global__ void moments(const float* in, float2* out, int columns) {
  Moments all{0, 0, 0};
  for (int i = threadIdx.x; i < columns; i += 32)
    all = joined(all, {in[blockIdx.x * columns + i], 0, 1});
  for (int step = 16; step > 0; step /= 2) {
    Moments other{__shfl_down_sync(~0u, all.mean, step), __shfl_down_sync(~0u, all.squares, step),
                  __shfl_down_sync(~0u, all.count, step)};
    all = joined(all, other);
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = make_float2(all.mean, __fdiv_rn(all.squares, static_cast<float>(all.count)));
}

__global__ void largest_index(const float* in, int* out, int columns) { // ties: the first one
  u64 best = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const u32 bits = __float_as_uint(in[blockIdx.x * columns + i]);
    const u32 key = bits & 0x80000000 ? ~bits : bits | 0x80000000;
    best = Most()(best, u64{key} << 32 | ~static_cast<u32>(i));
  }
  __shared__ u64 scratch[32];
  best = block_reduced(best, Most(), scratch);
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<int>(~static_cast<u32>(best));
}

// Scan of one pass: each block looks back at those before it.
__global__ void look_back(const u32* in, u32* out, u64* states, u32* next) {
  __shared__ u32 scratch[32], block, before;
  if (threadIdx.x == 0) block = atomicAdd(next, 1);
  __syncthreads();
  const int i = block * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  u32 sum = in[i];
  for (int step = 1; step < 32; step *= 2) {
    const u32 left = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += left;
  }
  if (lane == 31) scratch[threadIdx.x / 32] = sum;
  __syncthreads();
  for (int w = 0; w < static_cast<int>(threadIdx.x) / 32; ++w) sum += scratch[w];
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) {
    const auto publish = [&](u64 kind, u32 value) {
      asm volatile("st.release.gpu.b64 [%0], %1;" ::"l"(states + block), "l"(kind << 32 | value)
                   : "memory");
    };
    u32 found = 0;
    publish(block == 0 ? 2 : 1, sum);
    for (int at = static_cast<int>(block) - 1; at >= 0;) {
      u64 state = 0;
      asm volatile("ld.acquire.gpu.b64 %0, [%1];" : "=l"(state) : "l"(states + at) : "memory");
      if (state >> 32 == 0) continue;
      found += static_cast<u32>(state);
      if (state >> 32 == 2) break;
      --at;
    }
    if (block != 0) publish(2, found + sum);
    before = found;
  }
  __syncthreads();
  out[i] = before + sum;
}

__global__ void segmented_scan(const int* in, const u8* heads, int* out) {
  __shared__ int values[256];
  __shared__ int flags[256];
  const int t = threadIdx.x;
  values[t] = in[blockIdx.x * 256 + t];
  flags[t] = heads[blockIdx.x * 256 + t] & 1;
  for (int step = 1; step < 256; step *= 2) {
    __syncthreads();
    const int value = t >= step && !flags[t] ? values[t] + values[t - step] : values[t];
    const int flag = flags[t] | (t >= step ? flags[t - step] : 0);
    __syncthreads();
    values[t] = value;
    flags[t] = flag;
  }
  out[blockIdx.x * 256 + t] = values[t];
}

__global__ void bitonic(u32* keys, u32* values) {
  __shared__ u32 k[512], v[512];
  const int base = blockIdx.x * 512;
  for (int i = threadIdx.x; i < 512; i += 256) k[i] = keys[base + i], v[i] = values[base + i];
  for (int size = 2; size <= 512; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const int i = threadIdx.x / step * step * 2 + threadIdx.x % step, j = i + step;
      const bool ascends = (i & size) == 0;
      if (((u64{k[i]} << 32 | v[i]) > (u64{k[j]} << 32 | v[j])) == ascends) {
        const u32 a = k[i], b = v[i];
        k[i] = k[j], v[i] = v[j], k[j] = a, v[j] = b;
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 512; i += 256) keys[base + i] = k[i], values[base + i] = v[i];
}

// A digit of a radix sort: ranks by match_any.
__global__ void radix_pass(const u32* in, u32* out, int shift) {
  __shared__ u32 counts[8][16], starts[16];
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  if (t < 128) counts[t / 16][t % 16] = 0;
  __syncthreads();
  const u32 key = in[blockIdx.x * 256 + t], digit = key >> shift & 15;
  const u32 peers = __match_any_sync(~0u, digit);
  const u32 rank = __popc(peers & ((1u << lane) - 1));
  if (rank == 0) counts[warp][digit] = __popc(peers);
  __syncthreads();
  if (t < 16) {
    u32 sum = 0;
    for (int w = 0; w < 8; ++w) {
      const u32 n = counts[w][t];
      counts[w][t] = sum;
      sum += n;
    }
    u32 scan = sum;
    for (int step = 1; step < 16; step *= 2) {
      const u32 left = __shfl_up_sync(0xffff, scan, step, 16);
      if (t >= step) scan += left;
    }
    starts[t] = scan - sum;
  }
  __syncthreads();
  out[blockIdx.x * 256 + starts[digit] + counts[warp][digit] + rank] = key;
}

// Merges two sorted halves: each thread finds its part by a search along its diagonal.
__global__ void merge_path(const u32* a, const u32* b, u32* out, int n) {
  const int first = global_index() * 4;
  int low = max(0, first - n), high = min(first, n);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[first - 1 - middle]) low = middle + 1;
    else high = middle;
  }
  int i = low, j = first - low;
  for (int k = 0; k < 4; ++k) {
    const bool left = j >= n || (i < n && a[i] <= b[j]);
    out[first + k] = left ? a[i++] : b[j++];
  }
}

__global__ void histogram(const u8* in, u32* out, int count) {
  __shared__ u32 bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = global_index(); i < count; i += gridDim.x * blockDim.x) atomicAdd(bins + in[i], 1);
  __syncthreads();
  atomicAdd(out + threadIdx.x, bins[threadIdx.x]);
}

__global__ void compact(const int* in, int* out, int* counts) {
  __shared__ int warps[8];
  const int t = threadIdx.x, lane = t % 32, value = in[blockIdx.x * 256 + t];
  const u32 kept = __ballot_sync(~0u, value % 3 == 0);
  if (lane == 0) warps[t / 32] = __popc(kept);
  __syncthreads();
  int at = __popc(kept & ((1u << lane) - 1));
  for (int w = 0; w < t / 32; ++w) at += warps[w];
  if (value % 3 == 0) out[blockIdx.x * 256 + at] = value;
  if (t == 255) counts[blockIdx.x] = at + (value % 3 == 0);
}

template <class T> __global__ void turn(const T* in, T* out, int w, int h) {
  __shared__ T tile[32][33];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (x < w && y + i < h) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * w + x];
  }
  __syncthreads();
  const int tx = blockIdx.y * 32 + threadIdx.x, ty = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (tx < h && ty + i < w) out[(ty + i) * h + tx] = tile[threadIdx.x][threadIdx.y + i];
  }
}

// Sparse matrices. Row starts, columns and values.
struct Csr {
  const int *starts, *columns;
  const float* values;
};
__global__ void csr_thread(Csr m, const float* x, float* y) {
  const int row = global_index();
  float sum = 0;
  for (int i = m.starts[row]; i < m.starts[row + 1]; ++i)
    sum = fmaf(m.values[i], __ldg(x + m.columns[i]), sum);
  y[row] = sum;
}
__global__ void csr_tile(Csr m, const float* x, float* y) {
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const int row = global_index() / 8;
  float sum = 0;
  for (int i = m.starts[row] + tile.thread_rank(); i < m.starts[row + 1]; i += 8)
    sum = fmaf(m.values[i], x[m.columns[i]], sum);
  for (int step = 4; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
  if (tile.thread_rank() == 0) y[row] = sum;
}
__global__ void csr_matrix(Csr m, const float* b, float* c, int n) { // a row a block, a column a
                                                                     // thread
  float sum = 0;
  for (int i = m.starts[blockIdx.x]; i < m.starts[blockIdx.x + 1]; ++i)
    sum = fmaf(m.values[i], b[m.columns[i] * n + threadIdx.x], sum);
  c[blockIdx.x * n + threadIdx.x] = sum;
}
__global__ void sampled_product(Csr m, const float* a, const float* b, float* out, int k) {
  for (int i = m.starts[blockIdx.x] + threadIdx.x / 32; i < m.starts[blockIdx.x + 1];
       i += blockDim.x / 32) {
    float sum = 0;
    for (int j = threadIdx.x % 32; j < k; j += 32)
      sum = fmaf(a[blockIdx.x * k + j], b[m.columns[i] * k + j], sum);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) out[i] = sum * m.values[i];
  }
}
__global__ void coordinates(const int* rows, Csr m, const int* x, int* y, int count) {
  const int i = global_index();
  int value = i < count ? x[m.columns[i]] * static_cast<int>(m.values[i] * 16) : 0;
  const int row = i < count ? rows[i] : -1;
  for (int step = 1; step < 32; step *= 2) { // sums of equal rows gather in their first lane
    const int other = __shfl_down_sync(~0u, value, step), its = __shfl_down_sync(~0u, row, step);
    if (threadIdx.x % 32 + step < 32 && its == row) value += other;
  }
  const int left = __shfl_up_sync(~0u, row, 1);
  if (row >= 0 && (threadIdx.x % 32 == 0 || left != row)) atomicAdd(y + row, value);
}

// Keys into a table with open addresses; which slot a key has is open, that it is there is not.
__global__ void hash_insert(const u32* keys, u32* table, u32* counts, u32 slots) {
  const u32 key = keys[global_index()] | 1;
  for (u32 at = key * 2654435761u % slots;; at = (at + 1) % slots) {
    const u32 there = atomicCAS(table + at, 0, key);
    if (there == 0 || there == key) {
      atomicAdd(counts + at, 1);
      return;
    }
  }
}
__global__ void hash_find(const u32* keys, const u32* table, const u32* counts, u32* out,
                          u32 slots) {
  const u32 key = keys[global_index()] | 1;
  u32 at = key * 2654435761u % slots;
  while (table[at] != key) at = (at + 1) % slots;
  out[global_index()] = counts[at];
}

// Breadth first: one level a launch; who finds a node first does not matter.
__global__ void breadth_first(Csr graph, int* level, int now, int* more) {
  const int node = global_index();
  if (level[node] != now) return;
  for (int i = graph.starts[node]; i < graph.starts[node + 1]; ++i) {
    if (atomicCAS(level + graph.columns[i], -1, now + 1) == -1)
      *reinterpret_cast<volatile int*>(more) = 1;
  }
}

void test();

} // namespace algorithms
