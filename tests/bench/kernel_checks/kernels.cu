// SPDX-License-Identifier: Apache-2.0
// The kernels of kernel_checks.cu: what programs do with memory, from copies to a sort.
#include <cub/block/block_radix_sort.cuh>

constexpr int kTile = 32;

__device__ long first_index() { return blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x; }
__device__ long index_step() { return static_cast<long>(gridDim.x) * blockDim.x; }

extern "C" {

__global__ void copy4(const float* in, float* out, long n) {
  for (long i = first_index(); i < n; i += index_step()) out[i] = in[i];
}

__global__ void copy16(const float4* in, float4* out, long n) {
  for (long i = first_index(); i < n; i += index_step()) out[i] = in[i];
}

__global__ void vector_add(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

__global__ void stencil(const float* in, float* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  const long i = static_cast<long>(y) * n + x;
  out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}

__global__ void convolution3d(const float* in, float* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  for (int z = 1; z < n - 1; ++z) {
    float sum = 0;
    for (int d = -1; d <= 1; ++d) {
      for (int e = -1; e <= 1; ++e) {
        for (int f = -1; f <= 1; ++f)
          sum += in[((z + d) * n + y + e) * n + x + f] * (0.1f * d + 0.2f * e + 0.3f * f + 1);
      }
    }
    out[(z * n + y) * n + x] = sum;
  }
}

__global__ void matrix_product(const float* a, const float* b, float* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += a[static_cast<long>(y) * n + k] * b[static_cast<long>(k) * n + x];
  out[static_cast<long>(y) * n + x] = sum;
}

__global__ void matrix_product_tiles(const float* a, const float* b, float* out, int n) {
  __shared__ float left[kTile][kTile], right[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int x = blockIdx.x * kTile + tx, y = blockIdx.y * kTile + ty;
  float sum = 0;
  for (int t = 0; t < n / kTile; ++t) {
    left[ty][tx] = a[static_cast<long>(y) * n + t * kTile + tx];
    right[ty][tx] = b[static_cast<long>(t * kTile + ty) * n + x];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += left[ty][k] * right[k][tx];
    __syncthreads();
  }
  out[static_cast<long>(y) * n + x] = sum;
}

// A contraction of two tensors, whose indices are products of loop counters.
__global__ void contraction(const float* tensor, const float* matrix, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const int a = i / n, b = i % n;
  float sum = 0;
  for (int c = 0; c < n; ++c) {
    for (int d = 0; d < n; ++d) sum += tensor[((a * n + c) * n + b) * n + d] * matrix[d * n + c];
  }
  out[i] = sum;
}

__global__ void gather(const float* in, const int* index, float* out, long n) {
  for (long i = first_index(); i < n; i += index_step()) out[i] = in[index[i]];
}

__global__ void spmv(const int* rows, const int* columns, const float* values, const float* x,
                     float* y, int n) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float sum = 0;
  for (int k = rows[r]; k < rows[r + 1]; ++k) sum += values[k] * x[columns[k]];
  y[r] = sum;
}

__global__ void histogram(const unsigned char* in, unsigned* bins, long n) {
  for (long i = first_index(); i < n; i += index_step()) atomicAdd(bins + in[i], 1u);
}

__global__ void histogram_shared(const unsigned char* in, unsigned* bins, long n) {
  __shared__ unsigned own[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (long i = first_index(); i < n; i += index_step()) atomicAdd(own + in[i], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(bins + i, own[i]);
}

__global__ void polynomial(const float* in, float* out, long n) {
  for (long i = first_index(); i < n; i += index_step()) {
    float v = in[i];
    for (int r = 0; r < 64; ++r) v = v * 1.0001f + 0.5f;
    out[i] = v;
  }
}

__global__ void reduction(const float* in, float* out, long n) {
  __shared__ float parts[32];
  float sum = 0;
  for (long i = first_index(); i < n; i += index_step()) sum += in[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += 8)
    tile[threadIdx.y + j][threadIdx.x] = in[static_cast<long>(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += 8)
    out[static_cast<long>(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void shortest_paths(const int* in, int* out, int n, int k) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int old = in[y * n + x], other = in[y * n + k] + in[k * n + x];
  out[y * n + x] = other < old ? other : old;
}

// Each body reads all others from global memory.
__global__ void bodies(const float4* in, float4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 own = in[i];
  float4 sum = make_float4(0, 0, 0, own.w);
  for (int k = 0; k < n; ++k) {
    const float4 other = in[k];
    const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    const float weight = other.w * inverse * inverse * inverse;
    sum.x += dx * weight;
    sum.y += dy * weight;
    sum.z += dz * weight;
  }
  out[i] = sum;
}

__global__ void sort_blocks(const unsigned* in, unsigned* out) {
  using Sort = cub::BlockRadixSort<unsigned, 256, 8>;
  __shared__ typename Sort::TempStorage storage;
  unsigned keys[8];
  const long begin = (blockIdx.x * 256l + threadIdx.x) * 8;
  for (int i = 0; i < 8; ++i) keys[i] = in[begin + i];
  Sort(storage).Sort(keys);
  for (int i = 0; i < 8; ++i) out[begin + i] = keys[i];
}
}
