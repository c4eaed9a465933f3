// SPDX-License-Identifier: Apache-2.0
// What IEEE 754 defines exactly, for both widths; rounding modes; ordered and unordered
// comparisons.
#include <cfenv>
#include <limits>

#include "torture.h"

template <class T> __host__ __device__ T exact_step(T a, T b, T c, int step) {
  switch (step % 10) {
  case 0: return fma(a, b, c);
  case 1: return a / (b == 0 ? T(1) : b);
  case 2: return sqrt(fabs(a));
  case 3: return floor(a * T(100)) + ceil(c);
  case 4: return trunc(b * T(64)) - rint(c * T(32));
  case 5: return fmin(a, b);
  case 6: return fmax(b, c);
  case 7: return copysign(a, c);
  case 8: return fmod(a * T(1000), fabs(b) + T(1));
  default: return ldexp(a, static_cast<int>(c * T(20)));
  }
}

template <class T> __global__ void float_exact(const T* a, const T* b, const T* c, T* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = exact_step(a[i], b[i], c[i], i);
}

template <class T> __global__ void float_sums(const T* a, T* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  T sum = 0;
  for (int k = 0; k <= i % 50; ++k) sum = sum + a[(i + k) % n];
  out[i] = sum;
}

template <class T> __host__ __device__ unsigned comparisons(T a, T b) {
  unsigned bits = 0;
  bits |=
    (a < b) << 0 | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5;
  bits |= !(a < b) << 6 | !(a >= b) << 7 | (a != a) << 8 | (a == a && b == b) << 9;
  bits |= (a < b ? 1u : 0u) << 10 | (signbit(a) ? 1u : 0u) << 11 | (isinf(b) ? 1u : 0u) << 12;
  return bits;
}

template <class T> __global__ void float_comparisons(const T* a, const T* b, unsigned* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = comparisons(a[i], b[i]);
}

__global__ void rounded_floats(const float* a, const float* b, float* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  float* o = out + 12 * i;
  o[0] = __fadd_rn(a[i], b[i]);
  o[1] = __fadd_rz(a[i], b[i]);
  o[2] = __fadd_ru(a[i], b[i]);
  o[3] = __fadd_rd(a[i], b[i]);
  o[4] = __fmul_rn(a[i], b[i]);
  o[5] = __fmul_rz(a[i], b[i]);
  o[6] = __fmul_ru(a[i], b[i]);
  o[7] = __fmul_rd(a[i], b[i]);
  o[8] = __fdiv_rn(a[i], b[i]);
  o[9] = __fdiv_rz(a[i], b[i]);
  o[10] = __fdiv_ru(a[i], b[i]);
  o[11] = __fdiv_rd(a[i], b[i]);
}

__global__ void rounded_doubles(const double* a, const double* b, double* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  double* o = out + 12 * i;
  o[0] = __dadd_rn(a[i], b[i]);
  o[1] = __dadd_rz(a[i], b[i]);
  o[2] = __dadd_ru(a[i], b[i]);
  o[3] = __dadd_rd(a[i], b[i]);
  o[4] = __dmul_rn(a[i], b[i]);
  o[5] = __dmul_rz(a[i], b[i]);
  o[6] = __dmul_ru(a[i], b[i]);
  o[7] = __dmul_rd(a[i], b[i]);
  o[8] = __ddiv_rn(a[i], b[i]);
  o[9] = __ddiv_rz(a[i], b[i]);
  o[10] = __ddiv_ru(a[i], b[i]);
  o[11] = __ddiv_rd(a[i], b[i]);
}

template <class T> __attribute__((noinline)) void rounded_on_host(T a, T b, T* o) {
  static const int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
  for (int k = 0; k < 4; ++k) {
    std::fesetround(kModes[k]);
    volatile T x = a;
    volatile T y = b;
    volatile T sum = x + y;
    volatile T product = x * y;
    volatile T quotient = x / y;
    o[k] = sum;
    o[4 + k] = product;
    o[8 + k] = quotient;
  }
  std::fesetround(FE_TONEAREST);
}

template <class T> std::vector<T> edges(int n, int seed) {
  std::vector<T> values = torture::numbers<T>(n, static_cast<std::uint64_t>(seed));
  const T special[] = {0,
                       -T(0),
                       1,
                       -1,
                       std::numeric_limits<T>::infinity(),
                       -std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::max(),
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::quiet_NaN()};
  for (int i = 0; i < n / 2; ++i)
    values[(i * 7 + seed) % n] = special[(i * (seed + 3) + i / 10) % 10];
  return values;
}

template <class T> void run(const char* exact, const char* sums, const char* compared) {
  const int n = 800;
  const auto a = torture::numbers<T>(n, 1);
  const auto b = torture::numbers<T>(n, 2);
  const auto c = torture::numbers<T>(n, 3);
  torture::Array<T> da(a), db(b), dc(c), out(n);
  std::vector<T> want(n);
  for (int i = 0; i < n; ++i) want[i] = exact_step(a[i], b[i], c[i], i);
  float_exact<<<7, 128>>>(da.get(), db.get(), dc.get(), out.get(), n);
  torture::expect(exact, out, want);
  for (int i = 0; i < n; ++i) {
    want[i] = 0;
    for (int k = 0; k <= i % 50; ++k) want[i] = want[i] + a[(i + k) % n];
  }
  float_sums<<<7, 128>>>(da.get(), out.get(), n);
  torture::expect(sums, out, want);
  const auto x = edges<T>(n, 4);
  const auto y = edges<T>(n, 5);
  torture::Array<T> dx(x), dy(y);
  torture::Array<unsigned> bits(n);
  std::vector<unsigned> want_bits(n);
  for (int i = 0; i < n; ++i) want_bits[i] = comparisons(x[i], y[i]);
  float_comparisons<<<7, 128>>>(dx.get(), dy.get(), bits.get(), n);
  torture::expect(compared, bits, want_bits);
}

int main() {
  run<float>("float_exact_f32", "float_sums_f32", "float_comparisons_f32");
  run<double>("float_exact_f64", "float_sums_f64", "float_comparisons_f64");
  const int n = 300;
  const auto a = torture::numbers<float>(n, 6);
  const auto b = torture::numbers<float>(n, 7);
  torture::Array<float> da(a), db(b), out(12 * n);
  std::vector<float> want(12 * n);
  for (int i = 0; i < n; ++i) rounded_on_host(a[i], b[i], want.data() + 12 * i);
  rounded_floats<<<3, 128>>>(da, db, out, n);
  torture::expect("rounded_floats", out, want);
  const auto x = torture::numbers<double>(n, 6);
  const auto y = torture::numbers<double>(n, 7);
  torture::Array<double> dx(x), dy(y), wide(12 * n);
  std::vector<double> want_wide(12 * n);
  for (int i = 0; i < n; ++i) rounded_on_host(x[i], y[i], want_wide.data() + 12 * i);
  rounded_doubles<<<3, 128>>>(dx, dy, wide, n);
  torture::expect("rounded_doubles", wide, want_wide);
  return torture::finish();
}
