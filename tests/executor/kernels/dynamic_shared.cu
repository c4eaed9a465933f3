// SPDX-License-Identifier: Apache-2.0
// Shared memory whose size the launch says: several arrays in it, templates, more than 48 KiB.
#include "torture.h"

extern __shared__ __align__(16) unsigned char dynamic_bytes[];

__global__ void partitioned(const int* in, double* out, int n) {
  double* sums = reinterpret_cast<double*>(dynamic_bytes);
  int* copies = reinterpret_cast<int*>(sums + blockDim.x);
  unsigned char* flags = reinterpret_cast<unsigned char*>(copies + blockDim.x);
  const int i = global_index();
  const unsigned t = threadIdx.x;
  copies[t] = i < n ? in[i] : 0;
  flags[t] = i % 3 == 0;
  __syncthreads();
  const unsigned other = (t + 1) % blockDim.x;
  sums[t] = flags[other] ? copies[other] * 0.5 : copies[t];
  __syncthreads();
  if (i < n) out[i] = sums[blockDim.x - 1 - t];
}

template <class T> __global__ void rotate_dynamic(const T* in, T* out) {
  T* values = reinterpret_cast<T*>(dynamic_bytes);
  values[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[(threadIdx.x + 5) % blockDim.x];
}

__global__ void large_dynamic(int* out, int words) {
  int* values = reinterpret_cast<int*>(dynamic_bytes);
  for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x))
    values[i] = i * 3;
  __syncthreads();
  int sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x))
    sum += values[words - 1 - i];
  atomicAdd(out, sum);
}

__global__ void static_and_dynamic(int* out) {
  __shared__ int fixed[32];
  int* open = reinterpret_cast<int*>(dynamic_bytes);
  fixed[threadIdx.x] = static_cast<int>(threadIdx.x);
  open[threadIdx.x] = 100 + static_cast<int>(threadIdx.x);
  __syncthreads();
  unsigned size;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
  out[threadIdx.x] = fixed[31 - threadIdx.x] + open[31 - threadIdx.x] + static_cast<int>(size);
}

template <class T> void run(const char* name) {
  const int n = 64;
  const auto in = torture::numbers<T>(n, 1);
  std::vector<T> want(n);
  for (int i = 0; i < n; ++i) want[i] = in[(i + 5) % n];
  torture::Array<T> din(in), out(n);
  rotate_dynamic<<<1, n, n * sizeof(T)>>>(din.get(), out.get());
  torture::expect(name, out, want);
}

int main() {
  const int n = 300;
  const auto in = torture::numbers_below<int>(n, 1, 5000);
  std::vector<double> want(n);
  for (int i = 0; i < n; ++i) {
    const int block = i / 64 * 64;
    const int t = 63 - i % 64;
    const int other = (t + 1) % 64;
    const auto copy = [&](int at) { return block + at < n ? in[block + at] : 0; };
    want[i] = (block + other) % 3 == 0 ? copy(other) * 0.5 : copy(t);
  }
  torture::Array<int> din(in);
  torture::Array<double> out(n);
  partitioned<<<5, 64, 64 * 13>>>(din, out, n);
  torture::expect("partitioned", out, want);
  run<short>("rotate_dynamic_s16");
  run<float>("rotate_dynamic_f32");
  run<double>("rotate_dynamic_f64");

  const int words = 15000;
  torture::Array<int> sum(1);
  OK(cudaFuncSetAttribute(large_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, words * 4));
  large_dynamic<<<2, 128, words * 4>>>(sum, words);
  torture::expect("large_dynamic", sum, {2 * 3 * (words / 2) * (words - 1)});

  std::vector<int> both(32);
  for (int i = 0; i < 32; ++i) both[i] = 100 + 2 * (31 - i) + 256;
  torture::Array<int> dboth(32);
  static_and_dynamic<<<1, 32, 256>>>(dboth);
  torture::expect("static_and_dynamic", dboth, both);
  return torture::finish();
}
