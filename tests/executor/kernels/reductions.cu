// SPDX-License-Identifier: Apache-2.0
// Sums, maxima and other reductions: in shared memory, by shuffles, by atomics, over several
// launches.
#include <algorithm>

#include "torture.h"

template <class T> __global__ void reduce_shared(const T* in, T* out, int n) {
  __shared__ T values[256];
  const unsigned t = threadIdx.x;
  T sum = 0;
  for (int i = global_index(); i < n; i += static_cast<int>(gridDim.x * blockDim.x)) sum += in[i];
  values[t] = sum;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) values[t] += values[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = values[0];
}

template <class T> __device__ T warp_sum(T value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffff, value, step);
  return value;
}

template <class T> __global__ void reduce_shuffled(const T* in, T* out, int n) {
  __shared__ T sums[32];
  const int i = global_index();
  T value = warp_sum(i < n ? in[i] : T(0));
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = warp_sum(threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : T(0));
    if (threadIdx.x == 0) atomicAdd(out, value);
  }
}

struct Extremes {
  int low, high, at;
};

__global__ void extremes(const int* in, Extremes* out, int n) {
  __shared__ Extremes found[128];
  Extremes mine = {0x7fffffff, static_cast<int>(0x80000000), -1};
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 128) {
    if (in[i] > mine.high) mine.at = i;
    mine.low = min(mine.low, in[i]);
    mine.high = max(mine.high, in[i]);
  }
  found[threadIdx.x] = mine;
  for (int half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) >= half) continue;
    const Extremes& other = found[threadIdx.x + static_cast<unsigned>(half)];
    if (other.high > found[threadIdx.x].high) {
      found[threadIdx.x].at = other.at;
      found[threadIdx.x].high = other.high;
    }
    found[threadIdx.x].low = min(found[threadIdx.x].low, other.low);
  }
  if (threadIdx.x == 0) *out = found[0];
}

__global__ void dot_product(const double* a, const double* b, double* out, int n) {
  __shared__ double sums[4];
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 128) sum = fma(a[i], b[i], sum);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) *out = sums[0] + sums[1] + sums[2] + sums[3];
}

template <class T> void run(const char* shared, const char* shuffled) {
  const int n = 6000;
  const auto in = torture::numbers_below<T>(n, 1, 1000);
  T total = 0;
  for (const T value : in) total += value;
  torture::Array<T> din(in), parts(8), sum(1);
  reduce_shared<<<8, 256>>>(din.get(), parts.get(), n);
  reduce_shared<<<1, 256>>>(parts.get(), sum.get(), 8);
  torture::expect(shared, sum, {total});
  torture::Array<T> other(1);
  reduce_shuffled<<<(n + 191) / 192, 192>>>(din.get(), other.get(), n);
  torture::expect(shuffled, other, {total});
}

int main() {
  run<int>("reduce_shared_s32", "reduce_shuffled_s32");
  run<float>("reduce_shared_f32", "reduce_shuffled_f32"); // whole numbers: exact in any order
  run<double>("reduce_shared_f64", "reduce_shuffled_f64");
  run<unsigned long long>("reduce_shared_u64", "reduce_shuffled_u64");
  const int n = 3000;
  const auto in = torture::numbers<int>(n, 2);
  Extremes want = {in[0], in[0], 0};
  for (int i = 1; i < n; ++i) {
    if (in[i] > want.high) want.at = i;
    want.low = std::min(want.low, in[i]);
    want.high = std::max(want.high, in[i]);
  }
  torture::Array<int> din(in);
  torture::Array<Extremes> found(1);
  extremes<<<1, 128>>>(din, found, n);
  torture::expect("extremes", found, {want});

  const auto a = torture::numbers<double>(n, 3);
  const auto b = torture::numbers<double>(n, 4);
  double dot = 0;
  for (int i = 0; i < n; ++i) dot += a[i] * b[i];
  torture::Array<double> da(a), db(b), out(1);
  dot_product<<<1, 128>>>(da, db, out, n);
  torture::expect_near("dot_product", out, {dot}, 1e-11);
  return torture::finish();
}
