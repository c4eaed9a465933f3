// SPDX-License-Identifier: Apache-2.0
// Functions that call themselves and each other, with arrays on the stack.
#include <algorithm>

#include "torture.h"

__host__ __device__ unsigned long long factorial(int n) {
  return n < 2 ? 1 : static_cast<unsigned long long>(n) * factorial(n - 1);
}

__host__ __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__host__ __device__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__host__ __device__ bool is_odd(int n);
__host__ __device__ bool is_even(int n) { return n == 0 || is_odd(n - 1); }
__host__ __device__ bool is_odd(int n) { return n != 0 && is_even(n - 1); }

__device__ void quick_sort(int* data, int low, int high) {
  if (low >= high) return;
  const int pivot = data[(low + high) / 2];
  int i = low, k = high;
  while (i <= k) {
    while (data[i] < pivot) ++i;
    while (data[k] > pivot) --k;
    if (i > k) break;
    const int kept = data[i];
    data[i++] = data[k];
    data[k--] = kept;
  }
  quick_sort(data, low, k);
  quick_sort(data, i, high);
}

__host__ __device__ int queens(int row, unsigned columns, unsigned left, unsigned right, int n) {
  if (row == n) return 1;
  int count = 0;
  for (int c = 0; c < n; ++c) {
    const unsigned bit = 1u << c;
    if ((columns | left | right) & bit) continue;
    count += queens(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1, n);
  }
  return count;
}

__host__ __device__ double determinant(const double* matrix, int n) {
  if (n == 1) return matrix[0];
  double minor[16];
  double sum = 0;
  for (int skip = 0; skip < n; ++skip) {
    int at = 0;
    for (int r = 1; r < n; ++r) {
      for (int c = 0; c < n; ++c) {
        if (c != skip) minor[at++] = matrix[r * n + c];
      }
    }
    sum += (skip % 2 ? -1 : 1) * matrix[skip] * determinant(minor, n - 1);
  }
  return sum;
}

__global__ void factorials(unsigned long long* out) {
  out[threadIdx.x] = factorial(static_cast<int>(threadIdx.x % 21));
}
__global__ void fibonaccis(int* out) {
  out[threadIdx.x] = fibonacci(static_cast<int>(threadIdx.x % 12));
}
__global__ void ackermanns(int* out) {
  out[threadIdx.x] =
    ackermann(static_cast<int>(threadIdx.x % 3), static_cast<int>(threadIdx.x / 3));
}
__global__ void parities(int* out) {
  out[threadIdx.x] = is_even(static_cast<int>(threadIdx.x)) ? 1 : 2;
}
__global__ void quick_sorts(int* data) {
  int own[40];
  for (int k = 0; k < 40; ++k) own[k] = data[40 * threadIdx.x + static_cast<unsigned>(k)];
  quick_sort(own, 0, 39);
  for (int k = 0; k < 40; ++k) data[40 * threadIdx.x + static_cast<unsigned>(k)] = own[k];
}
__global__ void queens_of_six(int* out) {
  const unsigned bit = 1u << threadIdx.x;
  out[threadIdx.x] = queens(1, bit, bit << 1, bit >> 1, 6);
}
__global__ void determinants(const double* in, double* out) {
  double matrix[16];
  for (int k = 0; k < 16; ++k) matrix[k] = in[16 * threadIdx.x + static_cast<unsigned>(k)];
  out[threadIdx.x] = determinant(matrix, 4);
}

int main() {
  OK(cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10));
  torture::Array<unsigned long long> wide(64);
  std::vector<unsigned long long> want_wide(64);
  for (int i = 0; i < 64; ++i) want_wide[i] = factorial(i % 21);
  factorials<<<1, 64>>>(wide);
  torture::expect("factorials", wide, want_wide);

  torture::Array<int> out(32);
  std::vector<int> want(32);
  for (int i = 0; i < 32; ++i) want[i] = fibonacci(i % 12);
  fibonaccis<<<1, 32>>>(out);
  torture::expect("fibonaccis", out, want);
  for (int i = 0; i < 18; ++i) want[i] = ackermann(i % 3, i / 3);
  ackermanns<<<1, 18>>>(out);
  torture::expect("ackermanns", out, want);
  for (int i = 0; i < 32; ++i) want[i] = i % 2 + 1;
  parities<<<1, 32>>>(out);
  torture::expect("parities", out, want);

  auto data = torture::numbers<int>(40 * 32, 1);
  torture::Array<int> ddata(data);
  for (int t = 0; t < 32; ++t) std::sort(data.begin() + 40 * t, data.begin() + 40 * t + 40);
  quick_sorts<<<1, 32>>>(ddata);
  torture::expect("quick_sorts", ddata, data);

  torture::Array<int> counts(6);
  want.resize(6);
  for (int i = 0; i < 6; ++i) want[i] = queens(1, 1u << i, 2u << i, (1u << i) >> 1, 6);
  queens_of_six<<<1, 6>>>(counts);
  torture::expect("queens_of_six", counts, want);

  const auto whole = torture::numbers_below<double>(16 * 32, 2, 20);
  torture::Array<double> dwhole(whole), dets(32);
  std::vector<double> want_dets(32);
  for (int t = 0; t < 32; ++t) want_dets[t] = determinant(whole.data() + 16 * t, 4);
  determinants<<<1, 32>>>(dwhole, dets);
  torture::expect("determinants", dets, want_dets);
  return torture::finish();
}
