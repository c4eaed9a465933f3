// SPDX-License-Identifier: Apache-2.0
// Shuffles of all modes, widths and types.
#include "torture.h"

constexpr unsigned kAll = 0xffffffff;

__global__ void shuffle_modes(const int* in, int* out) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int value = in[threadIdx.x];
  int* o = out + 4 * threadIdx.x;
  o[0] = __shfl_sync(kAll, value, (lane * 5 + 3) % 32);
  o[1] = __shfl_up_sync(kAll, value, 3);
  o[2] = __shfl_down_sync(kAll, value, 7);
  o[3] = __shfl_xor_sync(kAll, value, 21);
}

__global__ void shuffle_widths(const int* in, int* out) {
  const int value = in[threadIdx.x];
  int* o = out + 5 * threadIdx.x;
  o[0] = __shfl_sync(kAll, value, 1, 4);
  o[1] = __shfl_up_sync(kAll, value, 1, 8);
  o[2] = __shfl_down_sync(kAll, value, 2, 16);
  o[3] = __shfl_xor_sync(kAll, value, 3, 8);
  o[4] = __shfl_sync(kAll, value, 37, 16); // modulo the width
}

template <class T> __global__ void shuffle_types(const T* in, T* out) {
  const T value = in[threadIdx.x];
  out[threadIdx.x] = __shfl_xor_sync(kAll, __shfl_down_sync(kAll, value, 1), 2);
}

// Only half of the warp takes part.
__global__ void shuffle_half_warp(const int* in, int* out) {
  const unsigned lane = threadIdx.x % 32;
  if (lane % 2 == 0) {
    out[threadIdx.x] = __shfl_sync(0x55555555, in[threadIdx.x], static_cast<int>(30 - lane));
  } else {
    out[threadIdx.x] = -1;
  }
}

// The predicate says whether the source was in range.
__global__ void shuffle_predicate(const int* in, int* out) {
  int value, good;
  asm volatile("{ .reg .pred p;\n\t"
               "shfl.sync.down.b32 %0|p, %2, 5, 0x1f, -1;\n\t"
               "selp.s32 %1, 1, 0, p; }"
               : "=r"(value), "=r"(good)
               : "r"(in[threadIdx.x]));
  out[threadIdx.x] = good ? value : -7;
}

int source(int t, int lane) { return t / 32 * 32 + lane; }

template <class T> void run(const char* name) {
  const auto in = torture::numbers<T>(64, 1);
  std::vector<T> want(64);
  const auto down = [&](int t) { return in[t % 32 == 31 ? t : t + 1]; };
  for (int t = 0; t < 64; ++t) want[t] = down(t ^ 2);
  torture::Array<T> din(in), out(64);
  shuffle_types<<<1, 64>>>(din.get(), out.get());
  torture::expect(name, out, want);
}

int main() {
  const int n = 96;
  const auto in = torture::numbers<int>(n, 1);
  torture::Array<int> din(in), four(4 * n), five(5 * n), one(n);
  std::vector<int> want(4 * n);
  for (int t = 0; t < n; ++t) {
    const int lane = t % 32;
    want[4 * t] = in[source(t, (lane * 5 + 3) % 32)];
    want[4 * t + 1] = in[lane < 3 ? t : t - 3];
    want[4 * t + 2] = in[lane + 7 > 31 ? t : t + 7];
    want[4 * t + 3] = in[source(t, lane ^ 21)];
  }
  shuffle_modes<<<1, n>>>(din, four);
  torture::expect("shuffle_modes", four, want);
  want.resize(5 * n);
  for (int t = 0; t < n; ++t) {
    want[5 * t] = in[t / 4 * 4 + 1];
    want[5 * t + 1] = in[t % 8 < 1 ? t : t - 1];
    want[5 * t + 2] = in[t % 16 + 2 > 15 ? t : t + 2];
    want[5 * t + 3] = in[t ^ 3];
    want[5 * t + 4] = in[t / 16 * 16 + 5];
  }
  shuffle_widths<<<1, n>>>(din, five);
  torture::expect("shuffle_widths", five, want);
  run<float>("shuffle_f32");
  run<double>("shuffle_f64");
  run<long long>("shuffle_s64");
  want.resize(n);
  for (int t = 0; t < n; ++t) want[t] = t % 2 == 0 ? in[source(t, 30 - t % 32)] : -1;
  shuffle_half_warp<<<1, n>>>(din, one);
  torture::expect("shuffle_half_warp", one, want);
  for (int t = 0; t < n; ++t) want[t] = t % 32 + 5 < 32 ? in[t + 5] : -7;
  shuffle_predicate<<<1, n>>>(din, one);
  torture::expect("shuffle_predicate", one, want);
  return torture::finish();
}
