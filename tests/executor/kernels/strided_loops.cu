// SPDX-License-Identifier: Apache-2.0
// Loops over more data than threads: by the grid, by blocks, nested, triangular, unrolled, and
// grids of three dimensions.
#include "torture.h"

__global__ void grid_stride(const int* in, int* out, int n) {
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = global_index(); i < n; i += stride) out[i] = 3 * in[i] + 1;
}

__global__ void block_chunks(const float* in, float* out, int n, int chunk) {
  const int begin = static_cast<int>(blockIdx.x) * chunk;
  const int end = min(n, begin + chunk);
  for (int i = begin + static_cast<int>(threadIdx.x); i < end; i += static_cast<int>(blockDim.x))
    out[i] = -in[i];
}

__global__ void long_long_stride(const int* in, long long* out, long long n) {
  long long sum = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += static_cast<long long>(in[i]) * i;
  out[threadIdx.x] = sum;
}

__global__ void triangular(int* out, int n) {
  const int row = global_index();
  if (row >= n) return;
  int sum = 0;
  for (int i = 0; i <= row; ++i) {
    for (int k = i; k < row; k += 3) sum += i ^ k;
  }
  out[row] = sum;
}

__global__ void unrolled(const unsigned* in, unsigned* out) {
  unsigned h = 2166136261u;
#pragma unroll
  for (int k = 0; k < 16; ++k) h = (h ^ in[threadIdx.x * 16 + k]) * 16777619u;
  out[threadIdx.x] = h;
}

__global__ void grid_of_three(unsigned* out, uint3 size) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < size.x && y < size.y && z < size.z)
    out[(z * size.y + y) * size.x + x] = x + 100 * y + 10000 * z;
}

__global__ void downward(const int* in, int* out, int n) {
  for (int i = n - 1 - global_index(); i >= 0; i -= static_cast<int>(gridDim.x * blockDim.x))
    out[n - 1 - i] = in[i];
}

int main() {
  const int n = 5000;
  const auto in = torture::numbers_below<int>(n, 1, 1000000);
  std::vector<int> want(n);
  torture::Array<int> din(in), out(n);
  for (int i = 0; i < n; ++i) want[i] = 3 * in[i] + 1;
  grid_stride<<<3, 96>>>(din, out, n);
  torture::expect("grid_stride", out, want);
  for (int i = 0; i < n; ++i) want[i] = in[n - 1 - i];
  downward<<<2, 100>>>(din, out, n);
  torture::expect("downward", out, want);

  const auto floats = torture::numbers<float>(n, 2);
  std::vector<float> negated(n);
  for (int i = 0; i < n; ++i) negated[i] = -floats[i];
  torture::Array<float> dfloats(floats), dnegated(n);
  block_chunks<<<7, 64>>>(dfloats, dnegated, n, 800);
  torture::expect("block_chunks", dnegated, negated);

  torture::Array<long long> sums(50);
  std::vector<long long> want_sums(50);
  for (int i = 0; i < n; ++i) want_sums[i % 50] += static_cast<long long>(in[i]) * i;
  long_long_stride<<<1, 50>>>(din, sums, n);
  torture::expect("long_long_stride", sums, want_sums);

  const int rows = 90;
  std::vector<int> triangle(rows);
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i <= row; ++i) {
      for (int k = i; k < row; k += 3) triangle[row] += i ^ k;
    }
  }
  torture::Array<int> dtriangle(rows);
  triangular<<<3, 32>>>(dtriangle, rows);
  torture::expect("triangular", dtriangle, triangle);

  const auto words = torture::numbers<unsigned>(64 * 16, 3);
  std::vector<unsigned> hashes(64, 2166136261u);
  for (int i = 0; i < 64 * 16; ++i) hashes[i / 16] = (hashes[i / 16] ^ words[i]) * 16777619u;
  torture::Array<unsigned> dwords(words), dhashes(64);
  unrolled<<<1, 64>>>(dwords, dhashes);
  torture::expect("unrolled", dhashes, hashes);

  const uint3 size = make_uint3(11, 7, 5);
  std::vector<unsigned> volume(11 * 7 * 5);
  for (unsigned i = 0; i < volume.size(); ++i)
    volume[i] = i % 11 + 100 * (i / 11 % 7) + 10000 * (i / 77);
  torture::Array<unsigned> dvolume(volume.size());
  grid_of_three<<<dim3(3, 4, 3), dim3(4, 2, 2)>>>(dvolume, size);
  torture::expect("grid_of_three", dvolume, volume);
  return torture::finish();
}
