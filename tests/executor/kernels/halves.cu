// SPDX-License-Identifier: Apache-2.0
// half, half2, bfloat16 and bfloat162. What is exact in float is computed there by the host.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "torture.h"

__global__ void half_conversions(const float* in, unsigned short* bits, float* back, int n) {
  const int i = global_index();
  if (i >= n) return;
  const __half h = __float2half_rn(in[i]);
  bits[2 * i] = __half_as_ushort(h);
  bits[2 * i + 1] = __half_as_ushort(__float2half_rz(in[i]));
  back[i] = __half2float(h);
}

__global__ void half_arithmetic(const __half* a, const __half* b, __half* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  out[5 * i] = __hadd(a[i], b[i]);
  out[5 * i + 1] = __hsub(a[i], b[i]);
  out[5 * i + 2] = __hmul(a[i], b[i]);
  out[5 * i + 3] = __hneg(a[i]);
  out[5 * i + 4] = __hlt(a[i], b[i]) ? a[i] : b[i];
}

__global__ void half2_arithmetic(const __half2* a, const __half2* b, __half2* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  out[4 * i] = __hadd2(a[i], b[i]);
  out[4 * i + 1] = __hmul2(a[i], b[i]);
  out[4 * i + 2] = __hfma2(a[i], b[i], a[i]);
  out[4 * i + 3] = __halves2half2(__low2half(__hgt2(a[i], b[i])), __high2half(a[i]));
}

__global__ void half2_dot(const __half2* a, const __half2* b, float* out, int n) {
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) {
    const float2 x = __half22float2(a[i]);
    const float2 y = __half22float2(b[i]);
    sum += x.x * y.x + x.y * y.y;
  }
  out[threadIdx.x] = sum;
}

__global__ void bfloat_arithmetic(const float* a, const float* b, float* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const __nv_bfloat16 x = __float2bfloat16(a[i]);
  const __nv_bfloat16 y = __float2bfloat16(b[i]);
  out[3 * i] = __bfloat162float(x);
  out[3 * i + 1] = __bfloat162float(__hadd(x, y));
  out[3 * i + 2] = __bfloat162float(__hmul(x, y));
}

__global__ void bfloat2_arithmetic(const float2* a, float2* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const __nv_bfloat162 x = __float22bfloat162_rn(a[i]);
  out[i] = __bfloat1622float2(__hadd2(x, x));
}

// Nearest float with so many bits behind the point; the values of this test are in the normal
// range.
float shortened(double value, int mantissa) {
  if (value == 0) return static_cast<float>(value);
  int exponent;
  const double fraction = std::frexp(value, &exponent);
  return static_cast<float>(
    std::ldexp(std::nearbyint(std::ldexp(fraction, mantissa + 1)), exponent - mantissa - 1));
}

int main() {
  const int n = 400;
  auto a = torture::numbers<float>(n, 1);
  auto b = torture::numbers<float>(n, 2);
  for (int i = 0; i < n; ++i) {
    a[i] = std::copysign(std::fabs(a[i]) + 0.01F, a[i]) * 8;
    b[i] = std::copysign(std::fabs(b[i]) + 0.01F, b[i]);
  }
  torture::Array<float> da(a), db(b), back(n);
  torture::Array<unsigned short> bits(2 * n);
  half_conversions<<<4, 128>>>(da, bits, back, n);
  std::vector<float> want(n);
  std::vector<__half> ha(n), hb(n);
  for (int i = 0; i < n; ++i) {
    want[i] = shortened(a[i], 10);
    ha[i] = __float2half(a[i]);
    hb[i] = __float2half(b[i]);
  }
  torture::expect("half_conversions", back, want);
  bool good = true;
  const auto got_bits = bits.host();
  for (int i = 0; i < n; ++i) {
    good = good && got_bits[2 * i] == static_cast<__half_raw>(ha[i]).x;
    const int step = got_bits[2 * i] - got_bits[2 * i + 1];
    good = good && (step == 0 || step == 1);
  }
  torture::report("half_bits", good);

  const auto value = [](const __half& h) { return static_cast<double>(__half2float(h)); };
  torture::Array<__half> dha(ha), dhb(hb), out(5 * n);
  half_arithmetic<<<4, 128>>>(dha, dhb, out, n);
  want.resize(5 * n);
  for (int i = 0; i < n; ++i) {
    const double x = value(ha[i]);
    const double y = value(hb[i]);
    const double results[] = {x + y, x - y, x * y, -x, x < y ? x : y};
    for (int k = 0; k < 5; ++k) want[5 * i + k] = static_cast<float>(results[k]);
  }
  const auto halves = out.host();
  good = true;
  for (int i = 0; i < 5 * n; ++i) {
    const __half rounded = __float2half(want[i]);
    good = good && std::memcmp(&halves[i], &rounded, 2) == 0;
  }
  torture::report("half_arithmetic", good);

  const int pairs = n / 2;
  torture::Array<__half2> out2(4 * pairs);
  const auto* pa = reinterpret_cast<const __half2*>(dha.get());
  const auto* pb = reinterpret_cast<const __half2*>(dhb.get());
  half2_arithmetic<<<2, 128>>>(pa, pb, out2, pairs);
  const auto two = out2.host();
  good = true;
  for (int i = 0; i < pairs; ++i) {
    for (int k = 0; k < 2; ++k) {
      const double x = value(ha[2 * i + k]);
      const double y = value(hb[2 * i + k]);
      const auto half = [&](int at) {
        return value(k == 0 ? __low2half(two[4 * i + at]) : __high2half(two[4 * i + at]));
      };
      good =
        good && half(0) == value(__double2half(x + y)) && half(1) == value(__double2half(x * y));
      good = good && half(2) == value(__double2half(x * y + x));
    }
    const bool greater = value(ha[2 * i]) > value(hb[2 * i]);
    good = good && value(__low2half(two[4 * i + 3])) == (greater ? 1.0 : 0.0);
    good = good && value(__high2half(two[4 * i + 3])) == value(ha[2 * i + 1]);
  }
  torture::report("half2_arithmetic", good);

  torture::Array<float> sums(32);
  half2_dot<<<1, 32>>>(pa, pb, sums, pairs);
  double total = 0;
  double want_total = 0;
  for (const float sum : sums.host()) total += sum;
  for (int i = 0; i < n; ++i) want_total += value(ha[i]) * value(hb[i]);
  torture::report("half2_dot", std::fabs(total - want_total) < 1e-3);

  torture::Array<float> bf(3 * n);
  bfloat_arithmetic<<<4, 128>>>(da, db, bf, n);
  want.resize(3 * n);
  for (int i = 0; i < n; ++i) {
    const double x = shortened(a[i], 7);
    const double y = shortened(b[i], 7);
    want[3 * i] = static_cast<float>(x);
    want[3 * i + 1] = shortened(x + y, 7);
    want[3 * i + 2] = shortened(x * y, 7);
  }
  torture::expect("bfloat_arithmetic", bf, want);

  torture::Array<float> bf2(n);
  bfloat2_arithmetic<<<2, 128>>>(reinterpret_cast<const float2*>(da.get()),
                                 reinterpret_cast<float2*>(bf2.get()), pairs);
  want.resize(n);
  for (int i = 0; i < n; ++i) want[i] = 2 * shortened(a[i], 7);
  torture::expect("bfloat2_arithmetic", bf2, want);
  return torture::finish();
}
