// SPDX-License-Identifier: Apache-2.0
// Arrays in local memory: large, indexed at run time, given to functions that are not inlined.
#include <algorithm>

#include "torture.h"

__device__ __noinline__ int fold(const int* data, int n, int by) {
  int h = by;
  for (int k = 0; k < n; ++k) h = h * 31 + data[k];
  return h;
}

__device__ __noinline__ void fill(int* data, int n, int seed) {
  for (int k = 0; k < n; ++k) data[k] = (seed + k * k) % 97;
}

__global__ void dynamic_index(const int* in, int* out) {
  int own[64];
  const int t = static_cast<int>(threadIdx.x);
  for (int k = 0; k < 64; ++k) own[k] = in[(k + t) % 64];
  for (int k = 0; k < 64; ++k) {
    const int a = own[k] & 63;
    const int kept = own[a];
    own[a] = own[k];
    own[k] = kept;
  }
  int h = 0;
  for (int k = 0; k < 64; ++k) h = h * 7 + own[k];
  out[t] = h;
}

__global__ void large_local(int* out) {
  int big[2000];
  const int t = static_cast<int>(threadIdx.x);
  fill(big, 2000, t);
  out[t] = fold(big, 2000, 1) + big[(t * 37) % 2000];
}

__global__ void local_of_bytes(const char* text, int* out) {
  char own[32];
  const int t = static_cast<int>(threadIdx.x);
  for (int k = 0; k < 32; ++k) own[k] = text[(k * 3 + t) % 32];
  int count = 0;
  for (int k = 0; k < 32; ++k) count += own[(own[k] & 31)] == own[k];
  out[t] = count;
}

__device__ __noinline__ void swap_by_address(double* a, double* b) {
  const double kept = *a;
  *a = *b;
  *b = kept;
}

__global__ void addresses_of_locals(const double* in, double* out) {
  double x = in[2 * threadIdx.x];
  double y = in[2 * threadIdx.x + 1];
  if (x > y) swap_by_address(&x, &y);
  out[2 * threadIdx.x] = x;
  out[2 * threadIdx.x + 1] = y;
}

__global__ void local_matrix(const int* in, int* out) {
  int m[4][4], p[4][4] = {};
  const unsigned t = threadIdx.x;
  for (unsigned r = 0; r < 4; ++r) {
    for (unsigned c = 0; c < 4; ++c) m[r][c] = in[(16 * t + 4 * r + c) % 512] % 10;
  }
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 4; ++c) {
      for (int k = 0; k < 4; ++k) p[r][c] += m[r][k] * m[k][c];
    }
  }
  out[t] = p[t % 4][t / 4 % 4];
}

__global__ void insertion_sorts(int* data) {
  int own[25];
  for (unsigned k = 0; k < 25; ++k) own[k] = data[25 * threadIdx.x + k];
  for (int i = 1; i < 25; ++i) {
    const int value = own[i];
    int k = i;
    for (; k > 0 && own[k - 1] > value; --k) own[k] = own[k - 1];
    own[k] = value;
  }
  for (unsigned k = 0; k < 25; ++k) data[25 * threadIdx.x + k] = own[k];
}

int main() {
  const auto in = torture::numbers_below<int>(64, 1, 1000);
  torture::Array<int> din(in), out(64);
  std::vector<int> want(64);
  for (int t = 0; t < 64; ++t) {
    int own[64];
    for (int k = 0; k < 64; ++k) own[k] = in[(k + t) % 64];
    for (int k = 0; k < 64; ++k) {
      const int a = own[k] & 63;
      const int kept = own[a];
      own[a] = own[k];
      own[k] = kept;
    }
    unsigned h = 0;
    for (int k = 0; k < 64; ++k) h = h * 7 + static_cast<unsigned>(own[k]);
    want[t] = static_cast<int>(h);
  }
  dynamic_index<<<1, 64>>>(din, out);
  torture::expect("dynamic_index", out, want);

  for (int t = 0; t < 64; ++t) {
    unsigned h = 1;
    for (int k = 0; k < 2000; ++k) h = h * 31 + static_cast<unsigned>((t + k * k) % 97);
    const int k = (t * 37) % 2000;
    want[t] = static_cast<int>(h + static_cast<unsigned>((t + k * k) % 97));
  }
  large_local<<<1, 64>>>(out);
  torture::expect("large_local", out, want);

  const auto text = torture::numbers<char>(32, 2);
  torture::Array<char> dtext(text);
  for (int t = 0; t < 64; ++t) {
    char own[32];
    for (int k = 0; k < 32; ++k) own[k] = text[(k * 3 + t) % 32];
    want[t] = 0;
    for (int k = 0; k < 32; ++k) want[t] += own[own[k] & 31] == own[k];
  }
  local_of_bytes<<<1, 64>>>(dtext, out);
  torture::expect("local_of_bytes", out, want);

  auto pairs = torture::numbers<double>(128, 3);
  torture::Array<double> dpairs(pairs), sorted(128);
  for (int t = 0; t < 64; ++t) {
    if (pairs[2 * t] > pairs[2 * t + 1]) std::swap(pairs[2 * t], pairs[2 * t + 1]);
  }
  addresses_of_locals<<<1, 64>>>(dpairs, sorted);
  torture::expect("addresses_of_locals", sorted, pairs);

  const auto entries = torture::numbers_below<int>(512, 4, 1000);
  torture::Array<int> dentries(entries);
  for (int t = 0; t < 64; ++t) {
    const auto m = [&](int r, int c) { return entries[(16 * t + 4 * r + c) % 512] % 10; };
    want[t] = 0;
    for (int k = 0; k < 4; ++k) want[t] += m(t % 4, k) * m(k, t / 4 % 4);
  }
  local_matrix<<<1, 64>>>(dentries, out);
  torture::expect("local_matrix", out, want);

  auto lists = torture::numbers<int>(25 * 64, 5);
  torture::Array<int> dlists(lists);
  for (int t = 0; t < 64; ++t) std::sort(lists.begin() + 25 * t, lists.begin() + 25 * t + 25);
  insertion_sorts<<<1, 64>>>(dlists);
  torture::expect("insertion_sorts", dlists, lists);
  return torture::finish();
}
