// SPDX-License-Identifier: Apache-2.0
// Static shared memory: transposition, matrix products, stencils, reversal, three-dimensional
// blocks.
#include "torture.h"

constexpr int kTile = 16;

__global__ void transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[kTile][kTile + 1];
  int x = static_cast<int>(blockIdx.x) * kTile + static_cast<int>(threadIdx.x);
  int y = static_cast<int>(blockIdx.y) * kTile + static_cast<int>(threadIdx.y);
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = static_cast<int>(blockIdx.y) * kTile + static_cast<int>(threadIdx.x);
  y = static_cast<int>(blockIdx.x) * kTile + static_cast<int>(threadIdx.y);
  if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

template <class T> __global__ void matrix_product(const T* a, const T* b, T* out, int n) {
  __shared__ T left[kTile][kTile];
  __shared__ T right[kTile][kTile];
  const int tx = static_cast<int>(threadIdx.x);
  const int ty = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * kTile + ty;
  const int column = static_cast<int>(blockIdx.x) * kTile + tx;
  T sum = 0;
  for (int k = 0; k < n; k += kTile) {
    left[ty][tx] = a[row * n + k + tx];
    right[ty][tx] = b[(k + ty) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[ty][i] * right[i][tx];
    __syncthreads();
  }
  out[row * n + column] = sum;
}

__global__ void stencil(const int* in, int* out, int n) {
  constexpr int kRadius = 3;
  __shared__ int line[128 + 2 * kRadius];
  const int i = global_index();
  const int at = static_cast<int>(threadIdx.x) + kRadius;
  line[at] = i < n ? in[i] : 0;
  if (threadIdx.x < kRadius) {
    line[at - kRadius] = i >= kRadius ? in[i - kRadius] : 0;
    line[at + 128] = i + 128 < n ? in[i + 128] : 0;
  }
  __syncthreads();
  int sum = 0;
  for (int k = -kRadius; k <= kRadius; ++k) sum += line[at + k];
  if (i < n) out[i] = sum;
}

__global__ void reverse_block(unsigned char* data) {
  __shared__ unsigned char bytes[192];
  bytes[threadIdx.x] = data[blockIdx.x * 192 + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * 192 + threadIdx.x] = bytes[191 - threadIdx.x];
}

__global__ void cube(const int* in, int* out) {
  __shared__ int values[4][6][8];
  const unsigned x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned at = x + 8 * (y + 6 * z);
  values[z][y][x] = in[block * 192 + at];
  __syncthreads();
  out[block * 192 + at] =
    values[(z + 1) % 4][(y + 1) % 6][(x + 1) % 8] + static_cast<int>(blockIdx.z);
}

template <class T> void run_product(const char* name) {
  const int n = 48;
  std::vector<T> a(n * n), b(n * n), want(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = static_cast<T>(i % 13 - 6);
    b[i] = static_cast<T>(i % 7 - 3);
  }
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      for (int k = 0; k < n; ++k) want[r * n + c] += a[r * n + k] * b[k * n + c];
    }
  }
  torture::Array<T> da(a), db(b), out(n * n);
  matrix_product<<<dim3(3, 3), dim3(kTile, kTile)>>>(da.get(), db.get(), out.get(), n);
  torture::expect(name, out, want);
}

int main() {
  const int width = 50, height = 37;
  const auto matrix = torture::numbers<float>(width * height, 1);
  std::vector<float> turned(matrix.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) turned[x * height + y] = matrix[y * width + x];
  }
  torture::Array<float> dmatrix(matrix), dturned(matrix.size());
  transpose<<<dim3(4, 3), dim3(kTile, kTile)>>>(dmatrix, dturned, width, height);
  torture::expect("transpose", dturned, turned);

  run_product<float>("matrix_product_f32");
  run_product<double>("matrix_product_f64");
  run_product<int>("matrix_product_s32");

  const int n = 500;
  const auto in = torture::numbers_below<int>(n, 2, 1000);
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) {
    for (int k = -3; k <= 3; ++k) want[i] += i + k >= 0 && i + k < n ? in[i + k] : 0;
  }
  torture::Array<int> din(in), out(n);
  stencil<<<4, 128>>>(din, out, n);
  torture::expect("stencil", out, want);

  const auto bytes = torture::numbers<unsigned char>(3 * 192, 3);
  std::vector<unsigned char> reversed(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) reversed[i] = bytes[i / 192 * 192 + 191 - i % 192];
  torture::Array<unsigned char> dbytes(bytes);
  reverse_block<<<3, 192>>>(dbytes);
  torture::expect("reverse_block", dbytes, reversed);

  const int blocks = 2 * 3 * 2;
  const auto cubes = torture::numbers_below<int>(blocks * 192, 4, 100000);
  std::vector<int> moved(cubes.size());
  for (int block = 0; block < blocks; ++block) {
    for (int z = 0; z < 4; ++z) {
      for (int y = 0; y < 6; ++y) {
        for (int x = 0; x < 8; ++x) {
          const int from = (x + 1) % 8 + 8 * ((y + 1) % 6 + 6 * ((z + 1) % 4));
          moved[block * 192 + x + 8 * (y + 6 * z)] = cubes[block * 192 + from] + block / 6;
        }
      }
    }
  }
  torture::Array<int> dcubes(cubes), dmoved(cubes.size());
  cube<<<dim3(2, 3, 2), dim3(8, 6, 4)>>>(dcubes, dmoved);
  torture::expect("cube", dmoved, moved);
  return torture::finish();
}
