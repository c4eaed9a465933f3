// SPDX-License-Identifier: Apache-2.0
// Bits: counting, finding, reversing, permuting, funnels, fields, lookup tables, bytes in words.
#include "torture.h"

using u32 = std::uint32_t;
using u64 = unsigned long long;

__global__ void counting(const u64* in, u32* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const u64 x = in[i];
  u32* o = out + 8 * i;
  o[0] = static_cast<u32>(__popc(static_cast<u32>(x)));
  o[1] = static_cast<u32>(__popcll(x));
  o[2] = static_cast<u32>(__clz(static_cast<int>(x)));
  o[3] = static_cast<u32>(__clzll(static_cast<long long>(x)));
  o[4] = static_cast<u32>(__ffs(static_cast<int>(x)));
  o[5] = static_cast<u32>(__ffsll(static_cast<long long>(x)));
  o[6] = __brev(static_cast<u32>(x));
  o[7] = static_cast<u32>(__brevll(x) >> 16);
}

__global__ void funnels(const u32* in, u32* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const u32 lo = in[i];
  const u32 hi = in[(i + 1) % n];
  const u32 shift = in[(i + 2) % n] % 70;
  u32* o = out + 6 * i;
  o[0] = __funnelshift_l(lo, hi, shift);
  o[1] = __funnelshift_r(lo, hi, shift);
  o[2] = __funnelshift_lc(lo, hi, shift);
  o[3] = __funnelshift_rc(lo, hi, shift);
  o[4] = __byte_perm(lo, hi, in[(i + 3) % n] & 0x7777);
  o[5] = __byte_perm(lo, hi, 0x4701);
}

__global__ void fields(const u32* in, u32* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const u32 a = in[i];
  const u32 b = in[(i + 1) % n];
  const u32 at = a % 40;
  const u32 size = b % 40;
  u32* o = out + 6 * i;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(o[0]) : "r"(a), "r"(at), "r"(size));
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(o[1]) : "r"(a), "r"(at), "r"(size));
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(o[2]) : "r"(a), "r"(b), "r"(at), "r"(size));
  asm("bfind.u32 %0, %1;" : "=r"(o[3]) : "r"(a >> (b & 31)));
  asm("bfind.shiftamt.s32 %0, %1;" : "=r"(o[4]) : "r"(a));
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(o[5]) : "r"(a), "r"(b), "r"(at));
}

__global__ void bytes_in_words(const u32* in, u32* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const u32 a = in[i];
  const u32 b = in[(i + 1) % n];
  u32* o = out + 8 * i;
  o[0] = __vadd4(a, b);
  o[1] = __vsub4(a, b);
  o[2] = __vminu4(a, b);
  o[3] = __vabsdiffu4(a, b);
  o[4] = static_cast<u32>(__dp4a(static_cast<int>(a), static_cast<int>(b), 7));
  o[5] = __dp4a(a, b, 7u);
  o[6] = __usad(a, b, 5u);
  o[7] = static_cast<u32>(__sad(static_cast<int>(a), static_cast<int>(b), 5u));
}

__global__ void averages(const u32* in, u32* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const u32 a = in[i];
  const u32 b = in[(i + 1) % n];
  out[4 * i] = __uhadd(a, b);
  out[4 * i + 1] = __urhadd(a, b);
  out[4 * i + 2] = static_cast<u32>(__hadd(static_cast<int>(a), static_cast<int>(b)));
  out[4 * i + 3] = static_cast<u32>(__rhadd(static_cast<int>(a), static_cast<int>(b)));
}

u32 reversed(u32 x) {
  u32 result = 0;
  for (int k = 0; k < 32; ++k) result |= (x >> k & 1) << (31 - k);
  return result;
}

u32 permuted(u32 lo, u32 hi, u32 selector) {
  const u64 both = static_cast<u64>(hi) << 32 | lo;
  u32 result = 0;
  for (int k = 0; k < 4; ++k) {
    const u32 nibble = selector >> 4 * k & 7;
    result |= static_cast<u32>(both >> 8 * nibble & 0xff) << 8 * k;
  }
  return result;
}

u32 field(u32 a, u32 at, u32 size, bool is_signed) {
  // Of bits behind the word the sign is used, or 0.
  const u32 last = size == 0 ? 0 : (at + size - 1 < 31 ? at + size - 1 : 31);
  const u32 sign = is_signed && size != 0 ? a >> last & 1 : 0;
  u32 result = 0;
  for (u32 k = 0; k < 32; ++k) {
    const u32 bit = k < size && at + k < 32 ? a >> (at + k) & 1 : sign;
    result |= bit << k;
  }
  return result;
}

u32 inserted(u32 a, u32 b, u32 at, u32 size) {
  for (u32 k = 0; k < size && at + k < 32; ++k) {
    b = (b & ~(1u << (at + k))) | (k < 32 ? (a >> k & 1) << (at + k) : 0);
  }
  return b;
}

template <class F> void compare(const char* name, const torture::Array<u32>& got, int n, int width,
                                F f) {
  std::vector<u32> want(got.size());
  for (int i = 0; i < n; ++i) f(i, want.data() + width * i);
  torture::expect(name, got, want);
}

int main() {
  const int n = 600;
  auto wide = torture::numbers<u64>(n, 1);
  for (int i = 0; i < 65; ++i) wide[i] = i == 64 ? 0 : 1ull << i;
  auto in = torture::numbers<u32>(n, 2);
  in[0] = 0;
  in[1] = ~0u;
  torture::Array<u64> dwide(wide);
  torture::Array<u32> din(in), eight(8 * n), six(6 * n), four(4 * n);

  counting<<<5, 128>>>(dwide, eight, n);
  compare("counting", eight, n, 8, [&](int i, u32* o) {
    const u64 x = wide[i];
    const u32 low = static_cast<u32>(x);
    o[0] = static_cast<u32>(__builtin_popcount(low));
    o[1] = static_cast<u32>(__builtin_popcountll(x));
    o[2] = low == 0 ? 32 : static_cast<u32>(__builtin_clz(low));
    o[3] = x == 0 ? 64 : static_cast<u32>(__builtin_clzll(x));
    o[4] = static_cast<u32>(__builtin_ffs(static_cast<int>(low)));
    o[5] = static_cast<u32>(__builtin_ffsll(static_cast<long long>(x)));
    o[6] = reversed(low);
    o[7] = static_cast<u32>(
      (static_cast<u64>(reversed(low)) << 32 | reversed(static_cast<u32>(x >> 32))) >> 16);
  });

  funnels<<<5, 128>>>(din, six, n);
  compare("funnels", six, n, 6, [&](int i, u32* o) {
    const u64 both = static_cast<u64>(in[(i + 1) % n]) << 32 | in[i];
    const u32 shift = in[(i + 2) % n] % 70;
    const u32 clamped = shift < 32 ? shift : 32;
    o[0] = static_cast<u32>((both << (shift & 31)) >> 32);
    o[1] = static_cast<u32>(both >> (shift & 31));
    o[2] = static_cast<u32>((both << clamped) >> 32);
    o[3] = static_cast<u32>(both >> clamped);
    o[4] = permuted(in[i], in[(i + 1) % n], in[(i + 3) % n]);
    o[5] = permuted(in[i], in[(i + 1) % n], 0x4701);
  });

  fields<<<5, 128>>>(din, six, n);
  compare("fields", six, n, 6, [&](int i, u32* o) {
    const u32 a = in[i];
    const u32 b = in[(i + 1) % n];
    const u32 at = a % 40;
    const u32 size = b % 40;
    o[0] = field(a, at, size, false);
    o[1] = field(a, at, size, true);
    o[2] = inserted(a, b, at, size);
    const u32 shifted = a >> (b & 31);
    o[3] = shifted == 0 ? ~0u : 31 - static_cast<u32>(__builtin_clz(shifted));
    const u32 other = static_cast<int>(a) < 0 ? ~a : a;
    o[4] = other == 0 ? ~0u : static_cast<u32>(__builtin_clz(other));
    o[5] = a ^ b ^ at;
  });

  bytes_in_words<<<5, 128>>>(din, eight, n);
  compare("bytes_in_words", eight, n, 8, [&](int i, u32* o) {
    const u32 a = in[i];
    const u32 b = in[(i + 1) % n];
    o[4] = o[5] = 7;
    for (int k = 0; k < 4; ++k) {
      const u32 x = a >> 8 * k & 0xff;
      const u32 y = b >> 8 * k & 0xff;
      o[0] |= ((x + y) & 0xff) << 8 * k;
      o[1] |= ((x - y) & 0xff) << 8 * k;
      o[2] |= (x < y ? x : y) << 8 * k;
      o[3] |= (x < y ? y - x : x - y) << 8 * k;
      o[4] += static_cast<u32>(static_cast<std::int8_t>(x) * static_cast<std::int8_t>(y));
      o[5] += x * y;
    }
    o[6] = 5 + (a < b ? b - a : a - b);
    const long long difference = static_cast<long long>(static_cast<int>(a)) - static_cast<int>(b);
    o[7] = 5 + static_cast<u32>(difference < 0 ? -difference : difference);
  });

  averages<<<5, 128>>>(din, four, n);
  compare("averages", four, n, 4, [&](int i, u32* o) {
    const u64 a = in[i];
    const u64 b = in[(i + 1) % n];
    const long long x = static_cast<int>(in[i]);
    const long long y = static_cast<int>(in[(i + 1) % n]);
    o[0] = static_cast<u32>((a + b) >> 1);
    o[1] = static_cast<u32>((a + b + 1) >> 1);
    o[2] = static_cast<u32>((x + y) >> 1);
    o[3] = static_cast<u32>((x + y + 1) >> 1);
  });
  return torture::finish();
}
