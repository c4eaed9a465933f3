// SPDX-License-Identifier: Apache-2.0
// Arithmetic of all integer widths. The host computes the same function.
#include "torture.h"

template <class T> __host__ __device__ T mix(T a, T b, int step) {
  using U = typename std::make_unsigned<T>::type;
  const U ua = static_cast<U>(a);
  const U ub = static_cast<U>(b);
  const int shift = static_cast<int>(ub % (8 * sizeof(T)));
  switch (step % 12) {
  case 0: return static_cast<T>(static_cast<U>(ua + ub));
  case 1: return static_cast<T>(static_cast<U>(ua - ub));
  case 2: return static_cast<T>(static_cast<U>(static_cast<unsigned long long>(ua) * ub));
  case 3: return static_cast<T>(b == 0 || b == static_cast<T>(-1) ? a : a / b);
  case 4: return static_cast<T>(b == 0 || b == static_cast<T>(-1) ? a : a % b);
  case 5: return static_cast<T>(static_cast<U>(ua << shift));
  case 6: return static_cast<T>(a >> shift);
  case 7: return static_cast<T>((a & b) | (a ^ static_cast<T>(~b)));
  case 8: return a < b ? a : b;
  case 9: return a > b ? a : b;
  case 10: return static_cast<T>((a <= b) + 2 * (a == b) + 4 * (a != 0 && b != 0));
  default: return a < 0 ? static_cast<T>(static_cast<U>(U{0} - ua)) : static_cast<T>(~a);
  }
}

template <class T> __global__ void integer_arithmetic(const T* a, const T* b, T* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = mix(a[i], b[i], i);
}

// All steps on one value, in registers.
template <class T> __global__ void integer_chain(const T* a, T* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  T value = a[i];
  for (int step = 0; step < 24; ++step) value = mix(value, static_cast<T>(a[i] + step), step);
  out[i] = value;
}

template <class T> void run(const char* arithmetic, const char* chain) {
  const int n = 1000;
  std::vector<T> a = torture::numbers<T>(n, 1);
  std::vector<T> b = torture::numbers<T>(n, 2);
  for (int i = 0; i < n; i += 5) b[i] = static_cast<T>(b[i] % 7);
  for (int i = 0; i < n; i += 17) a[i] = b[i];
  std::vector<T> want(n);
  for (int i = 0; i < n; ++i) want[i] = mix(a[i], b[i], i);
  torture::Array<T> da(a), db(b), out(n);
  integer_arithmetic<<<8, 128>>>(da.get(), db.get(), out.get(), n);
  torture::expect(arithmetic, out, want);
  for (int i = 0; i < n; ++i) {
    want[i] = a[i];
    for (int step = 0; step < 24; ++step) want[i] = mix(want[i], static_cast<T>(a[i] + step), step);
  }
  integer_chain<<<8, 128>>>(da.get(), out.get(), n);
  torture::expect(chain, out, want);
}

int main() {
  run<std::int8_t>("integer_arithmetic_s8", "integer_chain_s8");
  run<std::uint8_t>("integer_arithmetic_u8", "integer_chain_u8");
  run<std::int16_t>("integer_arithmetic_s16", "integer_chain_s16");
  run<std::uint16_t>("integer_arithmetic_u16", "integer_chain_u16");
  run<std::int32_t>("integer_arithmetic_s32", "integer_chain_s32");
  run<std::uint32_t>("integer_arithmetic_u32", "integer_chain_u32");
  run<std::int64_t>("integer_arithmetic_s64", "integer_chain_s64");
  run<std::uint64_t>("integer_arithmetic_u64", "integer_chain_u64");
  return torture::finish();
}
