// SPDX-License-Identifier: Apache-2.0
// mma of integers and of bits: exact, modulo 2^32 or clamped at the end.
#include "simulated_cuda/executor/machine/handlers/products.h"

#include <algorithm>
#include <limits>
#include <string>

namespace gmt::executor {
namespace {

constexpr u32 kMostElements = 128; // of a row: 64 bytes of half a byte

// Elements of a row as integers of 16 bits.
template <u32 kBits, bool kSigned>
void widen(s16* to, const std::byte* from, u32 count) {
  if constexpr (kBits == 8) {
    const auto* bytes = reinterpret_cast<const u8*>(from);
    for (u32 i = 0; i < count; ++i)
      to[i] = kSigned ? static_cast<s16>(static_cast<s8>(bytes[i])) : static_cast<s16>(bytes[i]);
  } else {
    const auto* bytes = reinterpret_cast<const u8*>(from);
    for (u32 i = 0; i < count; ++i) {
      const u32 value = bytes[i / 2] >> (4 * (i % 2)) & 15u;
      to[i] =
        static_cast<s16>(kSigned ? static_cast<s32>(value ^ 8u) - 8 : static_cast<s32>(value));
    }
  }
}

s32 clamped(s64 value) {
  return static_cast<s32>(
    std::clamp<s64>(value, std::numeric_limits<s32>::min(), std::numeric_limits<s32>::max()));
}

template <u32 kBits, bool kSignedA, bool kSignedB, bool kClamp, bool kSparse>
Next integers(Warp& w, Next in) {
  Next next = nullptr;
  if (waits(w, in, &next)) return next;
  const Product& p = product_of(w, in);
  alignas(64) std::byte rows[kMostRows * kMostRowBytes], columns[kBlock * kMostRowBytes];
  alignas(64) s16 b[kBlock][kMostElements];
  alignas(64) s16 a[kMostElements];
  alignas(64) u32 tile[kMostRows * kBlock];
  take_rows(w, p.a, p.m / kBlock, rows);
  if constexpr (kSparse) {
    u64 present[kMostRows];
    spread_rows<1>(w, p, p.k * kBits / 8, rows, present);
  }
  take_rows(w, p.b, 1, columns);
  take_tile(w, p.c, tile);
  for (u32 n = 0; n < kBlock; ++n) widen<kBits, kSignedB>(b[n], columns + n * kMostRowBytes, p.k);
  for (u32 m = 0; m < p.m; ++m) {
    widen<kBits, kSignedA>(a, rows + m * kMostRowBytes, p.k);
    for (u32 n = 0; n < kBlock; ++n) {
      s32 sum = 0; // of at most 128 products of 16 bits
      for (u32 k = 0; k < p.k; ++k) sum += s32{a[k]} * s32{b[n][k]};
      u32& c = tile[m * kBlock + n];
      c = kClamp ? static_cast<u32>(clamped(s64{static_cast<s32>(c)} + sum))
                 : c + static_cast<u32>(sum);
    }
  }
  give_tile(w, p.d, tile);
  return in + 1;
}

template <bool kXor>
Next bits(Warp& w, Next in) {
  Next next = nullptr;
  if (waits(w, in, &next)) return next;
  const Product& p = product_of(w, in);
  alignas(64) std::byte rows[kMostRows * kMostRowBytes], columns[kBlock * kMostRowBytes];
  alignas(64) u32 tile[kMostRows * kBlock];
  take_rows(w, p.a, p.m / kBlock, rows);
  take_rows(w, p.b, 1, columns);
  take_tile(w, p.c, tile);
  for (u32 m = 0; m < p.m; ++m) {
    for (u32 n = 0; n < kBlock; ++n) {
      u32 count = 0;
      for (u32 at = 0; at < p.k / 8; at += 8) {
        u64 a, b;
        std::memcpy(&a, rows + m * kMostRowBytes + at, sizeof a);
        std::memcpy(&b, columns + n * kMostRowBytes + at, sizeof b);
        count += static_cast<u32>(__builtin_popcountll(kXor ? a ^ b : a & b));
      }
      tile[m * kBlock + n] += count;
    }
  }
  give_tile(w, p.d, tile);
  return in + 1;
}

template <u32 kBits, bool kSignedA, bool kSignedB, bool kSparse>
void add_pair(FormTable& table, const std::string& shape, const char* a, const char* b) {
  const std::string types = std::string(".s32.") + a + "." + b + ".s32";
  table.add((shape + types).c_str(), integers<kBits, kSignedA, kSignedB, false, kSparse>);
  table.add((shape + ".satfinite" + types).c_str(),
            integers<kBits, kSignedA, kSignedB, true, kSparse>);
}

template <u32 kBits, bool kSparse>
void add_shape(FormTable& table, const std::string& shape) {
  const char *s = kBits == 8 ? "s8" : "s4", *u = kBits == 8 ? "u8" : "u4";
  add_pair<kBits, true, true, kSparse>(table, shape, s, s);
  add_pair<kBits, true, false, kSparse>(table, shape, s, u);
  add_pair<kBits, false, true, kSparse>(table, shape, u, s);
  add_pair<kBits, false, false, kSparse>(table, shape, u, u);
}

} // namespace

void GMT_GROUP(products_integer)(FormTable& table) {
  for (const char* shape : {"mma.m8n8k16", "mma.m16n8k16", "mma.m16n8k32"})
    add_shape<8, false>(table, shape);
  for (const char* shape : {"mma.m8n8k32", "mma.m16n8k32", "mma.m16n8k64"})
    add_shape<4, false>(table, shape);
  for (const std::string sparse : {"mma.sp", "mma.sp::ordered_metadata"}) {
    add_shape<8, true>(table, sparse + ".m16n8k32");
    add_shape<8, true>(table, sparse + ".m16n8k64");
    add_shape<4, true>(table, sparse + ".m16n8k64");
    add_shape<4, true>(table, sparse + ".m16n8k128");
  }
  for (const std::string shape : {"mma.m8n8k128", "mma.m16n8k128", "mma.m16n8k256"}) {
    table.add((shape + ".s32.b1.b1.s32.xor.popc").c_str(), bits<true>);
    table.add((shape + ".s32.b1.b1.s32.and.popc").c_str(), bits<false>);
  }
}

} // namespace gmt::executor
