// SPDX-License-Identifier: Apache-2.0
// Loads through the read-only path and with cache hints; constant memory with any index.
#include "torture.h"

__constant__ int table[64];
__constant__ double coefficients[4] = {1.0, -0.5, 0.25, 3.0};
__constant__ struct {
  short a[5];
  char text[8];
} record = {{1, 2, 3, 4, 5}, "device"};

template <class T> __global__ void read_only_loads(const T* in, T* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = __ldg(in + (i * 7) % n);
}

__global__ void cache_hints(const int* in, int* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const int sum = __ldcg(in + i) + __ldca(in + (i + 1) % n) + __ldcs(in + (i + 2) % n) +
                  __ldlu(in + i) + __ldcv(in + i);
  if (i % 2 == 0) __stcg(out + i, sum);
  if (i % 4 == 1) __stcs(out + i, sum);
  if (i % 4 == 3) __stwt(out + i, sum);
}

__global__ void restricted(const float* __restrict__ a, const float* __restrict__ b,
                           float* __restrict__ out, int n) {
  const int i = global_index();
  if (i < n) out[i] = a[i] * 2 + b[n - 1 - i];
}

__global__ void constant_table(const int* index, int* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = table[index[i]] + record.a[i % 5] + record.text[i % 6];
}

__global__ void constant_polynomial(const double* in, double* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  double value = 0;
  for (int k = 3; k >= 0; --k) value = fma(value, in[i], coefficients[k]);
  out[i] = value;
}

template <class T> void run(const char* name) {
  const int n = 300;
  const auto bytes = torture::numbers<unsigned char>(n * sizeof(T), 9);
  std::vector<T> in(n), want(n);
  std::memcpy(in.data(), bytes.data(), bytes.size());
  for (int i = 0; i < n; ++i) want[i] = in[(i * 7) % n];
  torture::Array<T> din(in), out(n);
  read_only_loads<<<3, 128>>>(din.get(), out.get(), n);
  torture::expect(name, out, want);
}

int main() {
  run<char>("read_only_s8");
  run<unsigned short>("read_only_u16");
  run<float>("read_only_f32");
  run<double>("read_only_f64");
  run<uint4>("read_only_uint4");
  run<short4>("read_only_short4");
  const int n = 300;
  const auto in = torture::numbers<int>(n, 1);
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) {
    want[i] =
      static_cast<int>(3u * static_cast<unsigned>(in[i]) + static_cast<unsigned>(in[(i + 1) % n]) +
                       static_cast<unsigned>(in[(i + 2) % n]));
  }
  torture::Array<int> din(in), out(n);
  cache_hints<<<3, 128>>>(din, out, n);
  torture::expect("cache_hints", out, want);

  const auto a = torture::numbers<float>(n, 2);
  const auto b = torture::numbers<float>(n, 3);
  torture::Array<float> da(a), db(b), sums(n);
  std::vector<float> want_sums(n);
  for (int i = 0; i < n; ++i)
    want_sums[i] = a[i] * 2 + b[n - 1 - i]; // exact: doubled, so fused or not
  restricted<<<3, 128>>>(da, db, sums, n);
  torture::expect("restricted", sums, want_sums);

  std::vector<int> host_table(64);
  for (int i = 0; i < 64; ++i) host_table[i] = i * i;
  OK(cudaMemcpyToSymbol(table, host_table.data(), sizeof(table)));
  const auto index = torture::numbers_below<int>(n, 4, 64);
  torture::Array<int> dindex(index);
  for (int i = 0; i < n; ++i) want[i] = host_table[index[i]] + 1 + i % 5 + "device"[i % 6];
  constant_table<<<3, 128>>>(dindex, out, n);
  torture::expect("constant_table", out, want);

  const auto x = torture::numbers<double>(n, 5);
  const double c[] = {1.0, -0.5, 0.25, 3.0};
  torture::Array<double> dx(x), values(n);
  std::vector<double> want_values(n);
  for (int i = 0; i < n; ++i) {
    double value = 0;
    for (int k = 3; k >= 0; --k) value = std::fma(value, x[i], c[k]);
    want_values[i] = value;
  }
  constant_polynomial<<<3, 128>>>(dx, values, n);
  torture::expect("constant_polynomial", values, want_values);
  return torture::finish();
}
