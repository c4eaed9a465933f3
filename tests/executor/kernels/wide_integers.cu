// SPDX-License-Identifier: Apache-2.0
// High halves of products, 128 bits, carries and 24-bit products.
#include "torture.h"

using u32 = std::uint32_t;
using u64 = unsigned long long;
using i64 = long long;

__global__ void high_halves(const u64* a, const u64* b, u64* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const u64 x = a[i];
  const u64 y = b[i];
  out[6 * i] = __umul64hi(x, y);
  out[6 * i + 1] = static_cast<u64>(__mul64hi(static_cast<i64>(x), static_cast<i64>(y)));
  out[6 * i + 2] = __umulhi(static_cast<u32>(x), static_cast<u32>(y));
  out[6 * i + 3] = static_cast<u32>(__mulhi(static_cast<int>(x), static_cast<int>(y)));
  out[6 * i + 4] = static_cast<u64>(static_cast<u32>(x)) * static_cast<u32>(y);
  out[6 * i + 5] = static_cast<u64>(static_cast<i64>(static_cast<int>(x)) * static_cast<int>(y));
}

__global__ void product_24(const u32* a, const u32* b, u32* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  out[2 * i] = __umul24(a[i], b[i]);
  out[2 * i + 1] = static_cast<u32>(__mul24(static_cast<int>(a[i]), static_cast<int>(b[i])));
}

__host__ __device__ unsigned __int128 mix_128(u64 a, u64 b, int step) {
  const unsigned __int128 x = (static_cast<unsigned __int128>(a) << 64) | b;
  const unsigned __int128 y = (static_cast<unsigned __int128>(b) << 40) + a;
  switch (step % 6) {
  case 0: return x + y;
  case 1: return x - y;
  case 2: return x * y;
  case 3: return x >> (a % 127);
  case 4: return x << (b % 127);
  default:
    return static_cast<unsigned __int128>(static_cast<__int128>(x) < static_cast<__int128>(y));
  }
}

__global__ void integers_128(const u64* a, const u64* b, u64* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const unsigned __int128 value = mix_128(a[i], b[i], i);
  out[2 * i] = static_cast<u64>(value);
  out[2 * i + 1] = static_cast<u64>(value >> 64);
}

// 256-bit sums by carries.
__global__ void carries(const u32* a, const u32* b, u32* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  u32 r[4];
  asm("add.cc.u32 %0, %4, %8;\n\t"
      "addc.cc.u32 %1, %5, %9;\n\t"
      "addc.cc.u32 %2, %6, %10;\n\t"
      "addc.u32 %3, %7, %11;"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(a[4 * i]), "r"(a[4 * i + 1]), "r"(a[4 * i + 2]), "r"(a[4 * i + 3]), "r"(b[4 * i]),
        "r"(b[4 * i + 1]), "r"(b[4 * i + 2]), "r"(b[4 * i + 3]));
  for (int k = 0; k < 4; ++k) out[8 * i + k] = r[k];
  asm("sub.cc.u32 %0, %4, %8;\n\t"
      "subc.cc.u32 %1, %5, %9;\n\t"
      "subc.cc.u32 %2, %6, %10;\n\t"
      "subc.u32 %3, %7, %11;"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(a[4 * i]), "r"(a[4 * i + 1]), "r"(a[4 * i + 2]), "r"(a[4 * i + 3]), "r"(b[4 * i]),
        "r"(b[4 * i + 1]), "r"(b[4 * i + 2]), "r"(b[4 * i + 3]));
  for (int k = 0; k < 4; ++k) out[8 * i + 4 + k] = r[k];
}

// x^e modulo a 31-bit prime.
__host__ __device__ u64 power(u64 base, u64 exponent, u64 modulus) {
  u64 result = 1;
  for (base %= modulus; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * base % modulus;
    base = base * base % modulus;
  }
  return result;
}

__global__ void modular_powers(const u64* a, u64* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = power(a[i], a[i] >> 32, 2147483647ull);
}

int main() {
  const int n = 500;
  const auto a = torture::numbers<u64>(n, 1);
  auto b = torture::numbers<u64>(n, 2);
  for (int i = 0; i < n; ++i) b[i] = b[i] * 0x100000001b3ull ^ (b[i] << 33);
  torture::Array<u64> da(a), db(b), halves(6 * n), wide(2 * n), powers(n);
  std::vector<u64> want(6 * n);
  for (int i = 0; i < n; ++i) {
    want[6 * i] = static_cast<u64>(static_cast<unsigned __int128>(a[i]) * b[i] >> 64);
    want[6 * i + 1] = static_cast<u64>(
      static_cast<__int128>(static_cast<i64>(a[i])) * static_cast<i64>(b[i]) >> 64);
    want[6 * i + 2] = static_cast<u64>(static_cast<u32>(a[i])) * static_cast<u32>(b[i]) >> 32;
    const i64 product = static_cast<i64>(static_cast<int>(a[i])) * static_cast<int>(b[i]);
    want[6 * i + 3] = static_cast<u32>(product >> 32);
    want[6 * i + 4] = static_cast<u64>(static_cast<u32>(a[i])) * static_cast<u32>(b[i]);
    want[6 * i + 5] = static_cast<u64>(product);
  }
  high_halves<<<4, 128>>>(da, db, halves, n);
  torture::expect("high_halves", halves, want);

  want.assign(2 * n, 0);
  for (int i = 0; i < n; ++i) {
    const unsigned __int128 value = mix_128(a[i], b[i], i);
    want[2 * i] = static_cast<u64>(value);
    want[2 * i + 1] = static_cast<u64>(value >> 64);
  }
  integers_128<<<4, 128>>>(da, db, wide, n);
  torture::expect("integers_128", wide, want);

  want.resize(n);
  for (int i = 0; i < n; ++i) want[i] = power(a[i], a[i] >> 32, 2147483647ull);
  modular_powers<<<4, 128>>>(da, powers, n);
  torture::expect("modular_powers", powers, want);

  const auto c = torture::numbers<u32>(4 * n, 3);
  auto d = torture::numbers<u32>(4 * n, 4);
  for (int i = 0; i < 4 * n; i += 3) d[i] = ~c[i];
  torture::Array<u32> dc(c), dd(d), sums(8 * n), small(8 * n);
  std::vector<u32> words(8 * n);
  for (int i = 0; i < n; ++i) {
    u64 carry = 0;
    u64 borrow = 0;
    for (int k = 0; k < 4; ++k) {
      carry += static_cast<u64>(c[4 * i + k]) + d[4 * i + k];
      words[8 * i + k] = static_cast<u32>(carry);
      carry >>= 32;
      const u64 difference = static_cast<u64>(c[4 * i + k]) - d[4 * i + k] - borrow;
      words[8 * i + 4 + k] = static_cast<u32>(difference);
      borrow = difference >> 63;
    }
  }
  carries<<<4, 128>>>(dc, dd, sums, n);
  torture::expect("carries", sums, words);

  for (int i = 0; i < 4 * n; ++i) {
    words[2 * i] = static_cast<u32>(static_cast<u64>(c[i] & 0xffffff) * (d[i] & 0xffffff));
    const int left = static_cast<int>(c[i] << 8) >> 8;
    const int right = static_cast<int>(d[i] << 8) >> 8;
    words[2 * i + 1] = static_cast<u32>(static_cast<i64>(left) * right);
  }
  product_24<<<16, 128>>>(dc, dd, small, 4 * n);
  torture::expect("product_24", small, words);
  return torture::finish();
}
