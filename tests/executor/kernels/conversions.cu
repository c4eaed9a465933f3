// SPDX-License-Identifier: Apache-2.0
// Conversions between integers and floats: all widths, rounding modes, saturation, and bits as they
// are.
#include <limits>

#include "torture.h"

__global__ void between_integers(const long long* in, long long* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const long long x = in[i];
  long long* o = out + 6 * i;
  o[0] = static_cast<std::int8_t>(x);
  o[1] = static_cast<std::uint8_t>(x);
  o[2] = static_cast<std::int16_t>(x);
  o[3] = static_cast<std::uint16_t>(x);
  o[4] = static_cast<std::int32_t>(x);
  o[5] = static_cast<std::uint32_t>(x);
}

template <class T> __global__ void to_floats(const T* in, float* small, double* large, int n) {
  const int i = global_index();
  if (i >= n) return;
  small[i] = static_cast<float>(in[i]);
  large[i] = static_cast<double>(in[i]);
}

__global__ void float_to_int(const float* in, int* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  int* o = out + 6 * i;
  o[0] = __float2int_rn(in[i]);
  o[1] = __float2int_rz(in[i]);
  o[2] = __float2int_ru(in[i]);
  o[3] = __float2int_rd(in[i]);
  o[4] = static_cast<int>(__float2uint_rz(in[i]));
  o[5] = static_cast<std::int16_t>(in[i] / 65536);
}

__global__ void double_to_long(const double* in, long long* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  long long* o = out + 6 * i;
  o[0] = __double2ll_rn(in[i]);
  o[1] = __double2ll_rz(in[i]);
  o[2] = __double2ll_ru(in[i]);
  o[3] = __double2ll_rd(in[i]);
  o[4] = static_cast<long long>(__double2ull_rz(in[i]));
  o[5] = __double2int_rn(in[i]);
}

__global__ void int_to_float_rounded(const int* in, float* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  out[4 * i] = __int2float_rn(in[i]);
  out[4 * i + 1] = __int2float_rz(in[i]);
  out[4 * i + 2] = __int2float_ru(in[i]);
  out[4 * i + 3] = __int2float_rd(in[i]);
}

__global__ void double_to_float_and_bits(const double* in, float* out, long long* bits, int n) {
  const int i = global_index();
  if (i >= n) return;
  out[3 * i] = __double2float_rn(in[i]);
  out[3 * i + 1] = __double2float_rz(in[i]);
  out[3 * i + 2] = __double2float_ru(in[i]);
  bits[3 * i] = __double_as_longlong(in[i]);
  bits[3 * i + 1] = __float_as_int(static_cast<float>(in[i]));
  bits[3 * i + 2] =
    __double_as_longlong(__hiloint2double(__double2loint(in[i]) & 0xffff, __double2hiint(in[i])));
}

// What CUDA says of values that do not fit: the nearest one that does, and 0 for NaN.
template <class I, class F> I clamped(F value) {
  if (value != value) return 0;
  const F low = static_cast<F>(std::numeric_limits<I>::min());
  if (value <= low) return std::numeric_limits<I>::min();
  if (value >= std::ldexp(F(1), std::numeric_limits<I>::digits))
    return std::numeric_limits<I>::max();
  return static_cast<I>(value);
}

template <class T> void run_to_floats(const char* name) {
  const int n = 500;
  const auto in = torture::numbers<T>(n, 3);
  torture::Array<T> din(in);
  torture::Array<float> small(n);
  torture::Array<double> large(n);
  std::vector<double> want(n);
  std::vector<float> want_small(n);
  for (int i = 0; i < n; ++i) {
    want[i] = static_cast<double>(in[i]);
    want_small[i] = static_cast<float>(in[i]);
  }
  to_floats<<<4, 128>>>(din.get(), small.get(), large.get(), n);
  const bool good = small.host() == want_small && large.host() == want;
  torture::report(name, good);
}

// The next float toward zero or up, if the nearest one is on the other side.
float rounded(double exact, int mode) {
  float value = static_cast<float>(exact);
  if (mode == 1 && std::fabs(static_cast<double>(value)) > std::fabs(exact))
    value = std::nextafterf(value, 0);
  if (mode == 2 && static_cast<double>(value) < exact) value = std::nextafterf(value, INFINITY);
  if (mode == 3 && static_cast<double>(value) > exact) value = std::nextafterf(value, -INFINITY);
  return value;
}

int main() {
  const int n = 400;
  const auto wide = torture::numbers<long long>(n, 1);
  torture::Array<long long> dwide(wide), out(6 * n);
  std::vector<long long> want(6 * n);
  for (int i = 0; i < n; ++i) {
    long long* o = want.data() + 6 * i;
    o[0] = static_cast<std::int8_t>(wide[i]);
    o[1] = static_cast<std::uint8_t>(wide[i]);
    o[2] = static_cast<std::int16_t>(wide[i]);
    o[3] = static_cast<std::uint16_t>(wide[i]);
    o[4] = static_cast<std::int32_t>(wide[i]);
    o[5] = static_cast<std::uint32_t>(wide[i]);
  }
  between_integers<<<4, 128>>>(dwide, out, n);
  torture::expect("between_integers", out, want);

  run_to_floats<std::int8_t>("to_floats_s8");
  run_to_floats<std::uint16_t>("to_floats_u16");
  run_to_floats<std::int32_t>("to_floats_s32");
  run_to_floats<std::uint32_t>("to_floats_u32");
  run_to_floats<std::int64_t>("to_floats_s64");
  run_to_floats<std::uint64_t>("to_floats_u64");

  auto small = torture::numbers<float>(n, 4);
  for (int i = 0; i < n; ++i) small[i] *= i % 3 == 0 ? 100.0F : 3e9F;
  small[0] = NAN;
  small[1] = INFINITY;
  small[2] = -INFINITY;
  small[3] = 2.5F;
  torture::Array<float> dsmall(small);
  torture::Array<int> ints(6 * n);
  std::vector<int> want_ints(6 * n);
  for (int i = 0; i < n; ++i) {
    int* o = want_ints.data() + 6 * i;
    o[0] = clamped<int>(std::rint(small[i]));
    o[1] = clamped<int>(std::trunc(small[i]));
    o[2] = clamped<int>(std::ceil(small[i]));
    o[3] = clamped<int>(std::floor(small[i]));
    o[4] = static_cast<int>(clamped<unsigned>(std::trunc(small[i])));
    // Beyond 16 bits the result is undefined: those are left out below.
    o[5] = std::isfinite(small[i]) && std::fabs(small[i] / 65536) < 32768
             ? static_cast<std::int16_t>(small[i] / 65536)
             : 0;
  }
  float_to_int<<<4, 128>>>(dsmall, ints, n);
  std::vector<int> got = ints.host();
  for (int i = 0; i < n; ++i) {
    if (!std::isfinite(small[i]) || std::fabs(small[i] / 65536) >= 32768) got[6 * i + 5] = 0;
  }
  torture::expect("float_to_int", got, want_ints);

  auto large = torture::numbers<double>(n, 5);
  for (int i = 0; i < n; ++i) large[i] *= i % 3 == 0 ? 1e5 : 1e19;
  large[0] = NAN;
  large[1] = INFINITY;
  large[2] = -0.5;
  torture::Array<double> dlarge(large);
  for (int i = 0; i < n; ++i) {
    long long* o = want.data() + 6 * i;
    // NaN is 0x8000000000000000 for 64 bits.
    const auto to_long = [](double value) {
      return value != value ? std::numeric_limits<long long>::min() : clamped<long long>(value);
    };
    o[0] = to_long(std::rint(large[i]));
    o[1] = to_long(std::trunc(large[i]));
    o[2] = to_long(std::ceil(large[i]));
    o[3] = to_long(std::floor(large[i]));
    o[4] = large[i] != large[i]
             ? std::numeric_limits<long long>::min()
             : static_cast<long long>(clamped<unsigned long long>(std::trunc(large[i])));
    o[5] =
      large[i] != large[i] ? std::numeric_limits<int>::min() : clamped<int>(std::rint(large[i]));
  }
  double_to_long<<<4, 128>>>(dlarge, out, n);
  // What NaN becomes differs between devices: it is no part of this test.
  auto longs = out.host();
  for (int k = 0; k < 6; ++k) longs[k] = want[k] = 0;
  torture::expect("double_to_long", longs, want);

  const auto whole = torture::numbers<int>(n, 6);
  torture::Array<int> dwhole(whole);
  torture::Array<float> floats(4 * n);
  std::vector<float> want_floats(4 * n);
  for (int i = 0; i < 4 * n; ++i) want_floats[i] = rounded(whole[i / 4], i % 4);
  int_to_float_rounded<<<4, 128>>>(dwhole, floats, n);
  torture::expect("int_to_float_rounded", floats, want_floats);

  auto fractions = torture::numbers<double>(n, 7);
  torture::Array<double> dfractions(fractions);
  torture::Array<float> narrow(3 * n);
  torture::Array<long long> bits(3 * n);
  want_floats.resize(3 * n);
  want.resize(3 * n);
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 3; ++k) want_floats[3 * i + k] = rounded(fractions[i], k);
    const float value = static_cast<float>(fractions[i]);
    int small_bits;
    std::memcpy(&small_bits, &value, 4);
    std::memcpy(&want[3 * i], &fractions[i], 8);
    want[3 * i + 1] = small_bits;
    const std::uint64_t all = static_cast<std::uint64_t>(want[3 * i]);
    want[3 * i + 2] = static_cast<long long>((all & 0xffff) << 32 | all >> 32);
  }
  double_to_float_and_bits<<<4, 128>>>(dfractions, narrow, bits, n);
  torture::expect("double_to_float", narrow, want_floats);
  torture::expect("double_bits", bits, want);
  return torture::finish();
}
