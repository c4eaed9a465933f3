// SPDX-License-Identifier: Apache-2.0
// Kernels that include nothing, so that NVRTC compiles this file too.
#ifndef __CUDACC_RTC__
#include "torture.h"
#endif

struct Pixel {
  unsigned char r, g, b;
};

__device__ int rtc_calls = 0;
__constant__ float rtc_weights[3] = {0.25f, 0.5f, 0.25f};

extern "C" __global__ void rtc_saxpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

extern "C" __global__ void rtc_grey(const Pixel* in, unsigned char* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    out[i] = static_cast<unsigned char>(in[i].r * rtc_weights[0] + in[i].g * rtc_weights[1] +
                                        in[i].b * rtc_weights[2]);
    atomicAdd(&rtc_calls, 1);
  }
}

template <class T> __device__ __noinline__ T rtc_power(T x, int n) {
  return n == 0 ? T(1) : x * rtc_power(x, n - 1);
}

extern "C" __global__ void rtc_powers(const double* in, double* out) {
  extern __shared__ double values[];
  values[threadIdx.x] = rtc_power(in[threadIdx.x], static_cast<int>(threadIdx.x % 5));
  __syncthreads();
  out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void rtc_switch(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = in[i];
  switch (x & 7) {
  case 0: x += 5; break;
  case 1: x *= 3; break;
  case 2: x = -x; break;
  case 3: x ^= 0xff; break;
  case 5: x >>= 1; break;
  case 6: x = __popc(x); break;
  default: x = 0;
  }
  out[i] = __shfl_xor_sync(0xffffffff, x, 1);
}

#ifndef __CUDACC_RTC__
int main() {
  const int n = 256;
  const auto x = torture::numbers<float>(n, 1);
  const auto y = torture::numbers<float>(n, 2);
  std::vector<float> want(n);
  for (int i = 0; i < n; ++i) want[i] = std::fma(2.5f, x[i], y[i]);
  torture::Array<float> dx(x), dy(y);
  rtc_saxpy<<<2, 128>>>(2.5f, dx, dy, n);
  torture::expect("rtc_saxpy", dy, want);

  std::vector<Pixel> pixels(n);
  std::vector<unsigned char> grey(n);
  for (int i = 0; i < n; ++i) {
    pixels[i] = {static_cast<unsigned char>(i), static_cast<unsigned char>(2 * i),
                 static_cast<unsigned char>(7 * i)};
    grey[i] =
      static_cast<unsigned char>(pixels[i].r * 0.25f + pixels[i].g * 0.5f + pixels[i].b * 0.25f);
  }
  torture::Array<Pixel> dpixels(pixels);
  torture::Array<unsigned char> dgrey(n);
  rtc_grey<<<1, 64>>>(dpixels, dgrey, n);
  torture::expect("rtc_grey", dgrey, grey);

  std::vector<double> values(64), powers(64);
  for (int i = 0; i < 64; ++i) values[i] = i % 10 - 4;
  for (int i = 0; i < 64; ++i) powers[63 - i] = std::pow(values[i], i % 5);
  torture::Array<double> dvalues(values), dpowers(64);
  rtc_powers<<<1, 64, 64 * sizeof(double)>>>(dvalues, dpowers);
  torture::expect("rtc_powers", dpowers, powers);

  const auto in = torture::numbers<int>(n, 3);
  std::vector<int> out(n), moved(n);
  for (int i = 0; i < n; ++i) {
    const int v = in[i];
    const int cases[] = {v + 5,
                         static_cast<int>(static_cast<unsigned>(v) * 3),
                         static_cast<int>(0u - static_cast<unsigned>(v)),
                         v ^ 0xff,
                         0,
                         v >> 1,
                         __builtin_popcount(static_cast<unsigned>(v)),
                         0};
    out[i] = cases[v & 7];
  }
  for (int i = 0; i < n; ++i) moved[i] = out[i ^ 1];
  torture::Array<int> din(in), dout(n);
  rtc_switch<<<2, 128>>>(din, dout, n);
  torture::expect("rtc_switch", dout, moved);
  return torture::finish();
}
#endif
