// SPDX-License-Identifier: Apache-2.0
// The kernels of executor_bench.cpp. Their PTX lies beside this file; to write it anew:
// nvcc -ptx -arch=compute_80 -o executor_kernels.ptx executor_kernels.cu
#include <mma.h>

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void gather(const float* a, const int* index, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float v = a[index[i]];
    c[i] = v + v;
  }
}

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

extern "C" __global__ void reduction(const float* a, const float*, float* c, int) {
  __shared__ float parts[32];
  const int t = threadIdx.x;
  float v = a[blockIdx.x * blockDim.x + t];
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(~0u, v, offset);
  if (t % 32 == 0) parts[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = t < blockDim.x / 32 ? parts[t] : 0.0f;
    for (int offset = 4; offset > 0; offset /= 2) v += __shfl_down_sync(~0u, v, offset);
    if (t == 0) c[blockIdx.x] = v;
  }
}

extern "C" __global__ void scan(const float* a, const float*, float* c, int) {
  __shared__ float sums[256];
  const int t = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + t;
  float v = a[i];
  sums[t] = v;
  __syncthreads();
  for (int offset = 1; offset < 256; offset *= 2) {
    const float other = t >= offset ? sums[t - offset] : 0.0f;
    __syncthreads();
    v += other;
    sums[t] = v;
    __syncthreads();
  }
  c[i] = v;
}

extern "C" __global__ void mandelbrot(const float*, const float*, float* c, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const float cx = x * (3.0f / n) - 2.0f, cy = y * (3.0f / n) - 1.5f;
  float zx = 0, zy = 0;
  int i = 0;
  do {
    const float xx = zx * zx, yy = zy * zy;
    if (xx + yy > 4.0f) break;
    zy = 2.0f * zx * zy + cy;
    zx = xx - yy + cx;
  } while (++i < 256);
  c[y * n + x] = static_cast<float>(i);
}

// Each warp multiplies its tiles n times.
extern "C" __global__ void products(const __half* a, const __half* b, float* c, int n) {
  using namespace nvcuda::wmma;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  fragment<matrix_a, 16, 16, 16, __half, row_major> x;
  fragment<matrix_b, 16, 16, 16, __half, row_major> y;
  fragment<accumulator, 16, 16, 16, float> sum;
  load_matrix_sync(x, a + warp * 256, 16);
  load_matrix_sync(y, b + warp * 256, 16);
  fill_fragment(sum, 0.0f);
  for (int i = 0; i < n; ++i) mma_sync(sum, x, y, sum);
  store_matrix_sync(c + warp * 256, sum, 16, mem_row_major);
}

// Of matrices of n rows and columns each warp makes one tile, and loads what it needs each time.
extern "C" __global__ void tiles(const __half* a, const __half* b, float* c, int n) {
  using namespace nvcuda::wmma;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int row = warp / (n / 16) * 16, column = warp % (n / 16) * 16;
  fragment<matrix_a, 16, 16, 16, __half, row_major> x;
  fragment<matrix_b, 16, 16, 16, __half, row_major> y;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
  for (int k = 0; k < n; k += 16) {
    load_matrix_sync(x, a + row * n + k, n);
    load_matrix_sync(y, b + k * n + column, n);
    mma_sync(sum, x, y, sum);
  }
  store_matrix_sync(c + row * n + column, sum, n, mem_row_major);
}
