// SPDX-License-Identifier: Apache-2.0
// Functions of the mathematical library and fast intrinsics, near what the host computes.
#include "torture.h"

template <class T> __host__ __device__ T smooth(T x, int which) {
  switch (which) {
  case 0: return sin(x * T(10));
  case 1: return cos(x * T(10));
  case 2: return tan(x);
  case 3: return exp(x * T(5));
  case 4: return log(fabs(x) + T(0.25));
  case 5: return pow(fabs(x) + T(0.5), x * T(3));
  case 6: return tanh(x * T(2));
  case 7: return atan2(x, T(0.3));
  case 8: return asin(x);
  case 9: return erf(x * T(2));
  case 10: return cbrt(x * T(30));
  case 11: return hypot(x, T(2));
  case 12: return exp2(x * T(6));
  case 13: return log1p(fabs(x));
  case 14: return sinh(x);
  default: return tgamma(fabs(x) + T(1));
  }
}

template <class T> __global__ void library(const T* in, T* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = smooth(in[i], i % 16);
}

// Angles that need the slow reduction.
__global__ void large_angles(const double* in, double* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  double s, c;
  sincos(in[i] * 1e15, &s, &c);
  out[2 * i] = s;
  out[2 * i + 1] = c;
}

__global__ void fast_intrinsics(const float* in, float* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const float x = in[i];
  float* o = out + 8 * i;
  o[0] = __sinf(x);
  o[1] = __cosf(x);
  o[2] = __expf(x);
  o[3] = __logf(fabsf(x) + 0.5F);
  o[4] = __powf(fabsf(x) + 0.5F, 1.5F);
  o[5] = __fdividef(x, 3.0F);
  o[6] = rsqrtf(fabsf(x) + 0.1F);
  o[7] = __frcp_rn(x + 2.0F);
}

__global__ void reciprocal_roots(const double* in, double* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  out[2 * i] = rsqrt(fabs(in[i]) + 0.1);
  out[2 * i + 1] = 1.0 / sqrt(fabs(in[i]) + 0.1);
}

int main() {
  const int n = 480;
  const auto small = torture::numbers<float>(n, 1);
  const auto large = torture::numbers<double>(n, 2);
  torture::Array<float> dsmall(small), out(n), fast(8 * n);
  torture::Array<double> dlarge(large), wide(n), pairs(2 * n);
  std::vector<float> want(n);
  std::vector<double> want_wide(n);
  for (int i = 0; i < n; ++i) {
    want[i] = static_cast<float>(smooth(static_cast<double>(small[i]), i % 16));
    want_wide[i] = smooth(large[i], i % 16);
  }
  library<<<4, 128>>>(dsmall.get(), out.get(), n);
  torture::expect_near("library_f32", out, want, 1e-4);
  library<<<4, 128>>>(dlarge.get(), wide.get(), n);
  torture::expect_near("library_f64", wide, want_wide, 1e-12);

  want_wide.resize(2 * n);
  for (int i = 0; i < n; ++i) {
    want_wide[2 * i] = std::sin(large[i] * 1e15);
    want_wide[2 * i + 1] = std::cos(large[i] * 1e15);
  }
  large_angles<<<4, 128>>>(dlarge, pairs, n);
  torture::expect_near("large_angles", pairs, want_wide, 1e-12);

  want.resize(8 * n);
  for (int i = 0; i < n; ++i) {
    const double x = small[i];
    const double values[] = {std::sin(x),
                             std::cos(x),
                             std::exp(x),
                             std::log(std::fabs(x) + 0.5),
                             std::pow(std::fabs(x) + 0.5, 1.5),
                             x / 3,
                             1 / std::sqrt(std::fabs(x) + 0.1),
                             1 / (x + 2)};
    for (int k = 0; k < 8; ++k) want[8 * i + k] = static_cast<float>(values[k]);
  }
  fast_intrinsics<<<4, 128>>>(dsmall, fast, n);
  torture::expect_near("fast_intrinsics", fast, want, 1e-4);

  for (int i = 0; i < 2 * n; ++i) want_wide[i] = 1.0 / std::sqrt(std::fabs(large[i / 2]) + 0.1);
  reciprocal_roots<<<4, 128>>>(dlarge, pairs, n);
  torture::expect_near("reciprocal_roots", pairs, want_wide, 1e-14);
  return torture::finish();
}
