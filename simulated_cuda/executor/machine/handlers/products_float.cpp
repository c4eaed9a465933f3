// SPDX-License-Identifier: Apache-2.0
// mma of floats, bit by bit as an H100 computes them. tensor_sum.h says how a sum is made.
#include "simulated_cuda/executor/machine/handlers/products.h"
#include "simulated_cuda/executor/machine/handlers/tensor_sum.h"
#include "simulated_cuda/executor/machine/handlers/tensor_tiles.h"

#include <string>
#include <type_traits>

namespace gmt::executor {
namespace {

// The formats: how many products a step sums, and in which order steps take them. Numbers of 8 bits
// are those of f16, and an H100 makes these of them before it multiplies.
struct OfF16 {
  using Bits = u16;
  static constexpr s32 kLeast = -14, kFractionBits = 10;
  // As F16::widen, without branches, so that a row is widened at once.
  static f32 widen(u16 v) {
    const f32 magnitude = as_f32((u32{v} & 0x7fff) << 13) * 0x1p112f; // the bias is 15, not 127
    const u32 not_finite = magnitude >= 0x1p16f ? 0x7f800000u : 0u;
    return as_f32(bits(magnitude) | not_finite | (u32{v} & 0x8000) << 16);
  }
};
struct OfBf16 {
  using Bits = u16;
  static constexpr s32 kLeast = -126, kFractionBits = 7;
  static f32 widen(u16 v) { return Bf16::widen(v); }
};
struct OfTf32 {
  using Bits = u32;
  static constexpr s32 kLeast = -126;
  static f32 widen(u32 v) { return as_f32(v & ~0x1fffu); }
};
struct OfE5m2 {
  using Bits = u8;
  static constexpr s32 kLeast = -14;
  static constexpr s32 kOwnLeast = -14; // where they are not made numbers of f16
  static f32 widen(u8 v) { return F16::widen(static_cast<u16>(v << 8)); }
};
struct OfE4m3 {
  using Bits = u8;
  static constexpr s32 kLeast = -14;
  static constexpr s32 kOwnLeast = -6;
  static f32 widen(u8 v) {
    const u32 magnitude = v & 0x7fu, sign = u32{v} << 24 & 0x80000000u;
    if (magnitude == 0x7f) return as_f32(sign | kNan32);
    const f32 scaled = as_f32(magnitude << 20) * 0x1p120f; // the bias is 7, not 127
    return as_f32(sign | bits(scaled));
  }
};

// Of formats of 8 bits, the first step takes the lower half of each register, the second the upper:
// kTogether elements of the whole row that stay side by side.
constexpr u32 own_position(u32 position, u32 count, u32 together) {
  const u32 in_half = position % (count / 2);
  return in_half / together * 2 * together + in_half % together +
         (position < count / 2 ? 0 : together);
}

// The values and exponents of 16 elements.
template <class Format>
[[gnu::always_inline]] inline void take_elements(f32* __restrict value, s16* __restrict exponent,
                                                 const typename Format::Bits* __restrict from) {
#ifdef __F16C__
  constexpr bool kByProcessor = std::is_same_v<Format, OfF16>;
  if constexpr (kByProcessor) {
    for (u32 i = 0; i < kRows; i += 8) {
      __m128i halves;
      load(halves, from + i);
      _mm256_storeu_ps(value + i, _mm256_cvtph_ps(halves));
    }
  }
#else
  constexpr bool kByProcessor = false;
#endif
  if constexpr (!kByProcessor) {
    for (u32 i = 0; i < kRows; ++i) value[i] = Format::widen(from[i]);
  }
  if constexpr (sizeof(typename Format::Bits) == 2) {
    constexpr s16 kInfinity = 0x7fff >> Format::kFractionBits << Format::kFractionBits;
    constexpr s16 kLeast = Format::kLeast;
    Shorts magnitude;
    load(magnitude, from);
    magnitude &= s16{0x7fff};
    Shorts e = (magnitude >> Format::kFractionBits) + static_cast<s16>(kLeast - 1);
    e = e < kLeast ? Shorts{} + kLeast : e;
    e = magnitude >= kInfinity ? Shorts{} + static_cast<s16>(kNotFinite) : e;
    e = magnitude == 0 ? Shorts{} + static_cast<s16>(kNoExponent) : e;
    std::memcpy(exponent, &e, sizeof e);
  } else {
    for (u32 i = 0; i < kRows; ++i)
      exponent[i] = static_cast<s16>(exponent_of<Format::kLeast>(value[i]));
  }
}

// wgmma multiplies numbers of 8 bits as they are.
template <class Format>
struct Own : Format {
  static constexpr s32 kLeast = Format::kOwnLeast;
};

// `part`: where 8 rows of 16 bytes begin, kStride bytes apart. Parts with odd numbers are the lower
// half of the rows.
template <class Format, u32 kTogether, u32 kStride, class Part>
[[gnu::always_inline]] inline void take_a(TensorRows& to, u32 count, u32 parts, Part part) {
  using Bits = typename Format::Bits;
  constexpr u32 kEach = kRowBytes / sizeof(Bits), kBlockBytes = kBlock * sizeof(Bits);
  alignas(64) Bits turned[kMostRowBytes / sizeof(Bits)][kRows];
  for (u32 i = 0; i < parts; ++i) {
    const std::byte* from = part(i);
    alignas(64) std::byte columns[kBlock * kRowBytes]; // of 8 rows, one behind the other
    turn<Bits, 3>([&](u32 r) { return from + r * kStride; },
                  [&](u32 r) { return columns + r * kRowBytes; });
    GMT_UNROLL for (u32 k = 0; k < kEach; ++k) std::memcpy(
      turned[i / 2 * kEach + k] + i % 2 * kBlock, columns + k * kBlockBytes, kBlockBytes);
  }
  for (u32 k = 0; k < count; ++k) {
    const u32 own = sizeof(Bits) == 1 ? own_position(k, count, kTogether) : k;
    take_elements<Format>(to.value[k], to.exponent[k], turned[own]);
  }
}
template <class Format, u32 kTogether>
void take_b(TensorColumns& to, const std::byte* columns, u32 count) {
  using Bits = typename Format::Bits;
  for (u32 n = 0; n < kBlock; ++n) {
    alignas(64) Bits row[kMostRowBytes / sizeof(Bits)];
    const std::byte* from = columns + n * kMostRowBytes;
    if constexpr (sizeof(Bits) == 1) {
      for (u32 i = 0; i < count; i += kTogether)
        std::memcpy(row + i, from + own_position(i, count, kTogether), kTogether);
    } else {
      std::memcpy(row, from, kMostRowBytes);
    }
    for (u32 k = 0; k < count; k += kRows)
      take_elements<Format>(to.value[n] + k, to.exponent[n] + k, row + k);
  }
}

// `present`: the units that each row of a sparse A has.
template <class Format, u32 kTogether>
void mark_absent(TensorRows& a, const u64* present, u32 count) {
  constexpr bool kBytes = sizeof(typename Format::Bits) == 1;
  constexpr u32 kUnits = kBytes ? 1 : sizeof(typename Format::Bits) / 2;
  for (u32 k = 0; k < count; ++k) {
    const u32 own = kBytes ? own_position(k, count, kTogether) : k;
    for (u32 m = 0; m < kRows; ++m) {
      if ((present[m] >> (own * kUnits) & ((1u << kUnits) - 1)) == 0) a.exponent[k][m] = kAbsent;
    }
  }
}

// kStep: products of one sum, those of zeros that a sparse A leaves out included.
template <class A, class B, u32 kStep, bool kHalfC, bool kHalfD, bool kSparse,
          s32 kLowestBit = kBelow>
Next floats(Warp& w, Next in) {
  Next next = nullptr;
  if (waits(w, in, &next)) return next;
  const Product& p = product_of(w, in);
  alignas(64) std::byte columns[kBlock * kMostRowBytes];
  alignas(64) Tile tile, c;
  TensorRows a;
  TensorColumns b;
  constexpr bool kBytes = sizeof(typename A::Bits) == 1;
  constexpr u32 kTogether = kSparse ? 4 : 2;
  // An H100 adds C behind the steps, as add.f32 does, where it makes numbers of f16 of bytes.
  constexpr bool kAddsBehind = kBytes && kLowestBit == kBelow;
  if constexpr (kSparse) {
    const u32 row_bytes = p.k * u32{sizeof(typename A::Bits)};
    alignas(64) std::byte rows[kRows * kMostRowBytes];
    u64 present[kMostRows];
    take_rows(w, p.a, kRows / kBlock, rows);
    spread_rows<kBytes ? 1 : 2>(w, p, row_bytes, rows, present);
    take_a<A, kTogether, kMostRowBytes>(a, p.k, row_bytes / kRowBytes * 2, [&](u32 i) {
      return rows + i % 2 * kBlock * kMostRowBytes + i / 2 * kRowBytes;
    });
    mark_absent<A, kTogether>(a, present, p.k);
  } else {
    take_a<A, kTogether, kRowBytes>(a, p.k, static_cast<u32>(p.a.size()), [&](u32 i) {
      return reinterpret_cast<const std::byte*>(at<const u32>(w, p.a[i]));
    });
  }
  take_rows(w, p.b, 1, columns);
  take_b<B, kTogether>(b, columns, p.k);
  if constexpr (kHalfC) take_halves(w, p.c, tile);
  else take_floats(w, p.c, tile);
  if constexpr (kAddsBehind) {
    std::memcpy(c, tile, sizeof c);
    std::memset(tile, 0, sizeof tile);
  }
  for (u32 k = 0; k < p.k; k += kStep) {
    const u32 count = k + kStep < p.k ? kStep : p.k - k;
    if constexpr (kHalfC && kHalfD) add_step_halves<kStep, kLowestBit>(a, b, k, count, tile);
    else add_step<kStep, kLowestBit>(a, b, k, count, tile);
  }
  if constexpr (kAddsBehind) {
    for (u32 i = 0; i < kTileElements; ++i)
      tile[i] = kHalfD ? F16::widen(F16::narrow(f64{c[i]} + f64{tile[i]}))
                       : out_f32<false, false>(c[i] + tile[i]);
  }
  if constexpr (kHalfD) give_halves(w, p.d, tile);
  else give_floats(w, p.d, tile);
  return in + 1;
}

// A register of f64 has a block of 8 rows and 4 elements of each.
Next doubles(Warp& w, Next in) {
  Next next = nullptr;
  if (waits(w, in, &next)) return next;
  const Product& p = product_of(w, in);
  constexpr u32 kEach = 4;
  const u32 blocks = p.m / kBlock;
  alignas(64) f64 rows[kMostRows][16], columns[kBlock][16], tile[kMostRows][kBlock];
  for (u32 i = 0; i < p.a.size(); ++i) {
    const f64* from = at<const f64>(w, p.a[i]);
    for (u32 l = 0; l < kLanes; ++l)
      rows[i % blocks * kBlock + l / kEach][i / blocks * kEach + l % kEach] = from[l];
  }
  for (u32 i = 0; i < p.b.size(); ++i) {
    const f64* from = at<const f64>(w, p.b[i]);
    for (u32 l = 0; l < kLanes; ++l) columns[l / kEach][i * kEach + l % kEach] = from[l];
  }
  for (u32 i = 0; i < p.c.size(); ++i) {
    const f64* from = at<const f64>(w, p.c[i]);
    for (u32 l = 0; l < kLanes; ++l)
      tile[i / 2 * kBlock + l / kEach][l % kEach * 2 + i % 2] = from[l];
  }
  for (u32 m = 0; m < p.m; ++m) {
    for (u32 n = 0; n < kBlock; ++n) {
      f64 sum = tile[m][n];
      for (u32 k = 0; k < p.k; ++k) {
        const f64 a = rows[m][k], b = columns[n][k];
        sum = out_f64(__builtin_fma(a, b, sum), a, b, sum);
      }
      tile[m][n] = sum;
    }
  }
  for (u32 i = 0; i < p.d.size(); ++i) {
    alignas(64) f64 t[kLanes];
    for (u32 l = 0; l < kLanes; ++l) t[l] = tile[i / 2 * kBlock + l / kEach][l % kEach * 2 + i % 2];
    blend(at<f64>(w, p.d[i]), t, w.mask);
  }
  return in + 1;
}

template <class A, class B, u32 kStep, bool kSparse>
void add_types(FormTable& table, const std::string& shape, const std::string& types) {
  table.add((shape + ".f32" + types + ".f32").c_str(), floats<A, B, kStep, false, false, kSparse>);
  if constexpr (!std::is_same_v<A, OfBf16> && !std::is_same_v<A, OfTf32>)
    table.add((shape + ".f16" + types + ".f16").c_str(), floats<A, B, kStep, true, true, kSparse>);
}
template <u32 kStep, bool kSparse>
void add_bytes(FormTable& table, const std::string& shape) {
  add_types<OfE4m3, OfE4m3, kStep, kSparse>(table, shape, ".e4m3.e4m3");
  add_types<OfE4m3, OfE5m2, kStep, kSparse>(table, shape, ".e4m3.e5m2");
  add_types<OfE5m2, OfE4m3, kStep, kSparse>(table, shape, ".e5m2.e4m3");
  add_types<OfE5m2, OfE5m2, kStep, kSparse>(table, shape, ".e5m2.e5m2");
}

template <class A, class B>
void add_group_pair(FormTable& table, const std::string& types) {
  using C = Own<A>;
  using D = Own<B>;
  table.add(("wgmma.m16n8k32.f32" + types + ".f32").c_str(),
            floats<C, D, 32, false, false, false, kBelowOfBytes>);
  table.add(("wgmma.m16n8k32.f16" + types + ".f16").c_str(),
            floats<C, D, 32, true, true, false, kBelowOfBytes>);
  table.add(("wgmma.sp.m16n8k64.f32" + types + ".f32").c_str(),
            floats<C, D, 64, false, false, true, kBelowOfBytes>);
  table.add(("wgmma.sp.m16n8k64.f16" + types + ".f16").c_str(),
            floats<C, D, 64, true, true, true, kBelowOfBytes>);
}

} // namespace

void GMT_GROUP(products_float)(FormTable& table) {
  for (const char* shape : {"mma.m16n8k8", "mma.m16n8k16"}) {
    add_types<OfF16, OfF16, 16, false>(table, shape, ".f16.f16");
    add_types<OfBf16, OfBf16, 16, false>(table, shape, ".bf16.bf16");
  }
  table.add("mma.m16n8k16.f32.f16.f16.f16", floats<OfF16, OfF16, 16, true, false, false>); // wmma
  table.add("mma.m16n8k16.f16.f16.f16.f32", floats<OfF16, OfF16, 16, false, true, false>);
  for (const char* shape : {"mma.m16n8k4", "mma.m16n8k8"})
    add_types<OfTf32, OfTf32, 8, false>(table, shape, ".tf32.tf32");
  add_bytes<8, false>(table, "mma.m16n8k16");
  add_bytes<16, false>(table, "mma.m16n8k32");
  add_group_pair<OfE4m3, OfE4m3>(table, ".e4m3.e4m3");
  add_group_pair<OfE4m3, OfE5m2>(table, ".e4m3.e5m2");
  add_group_pair<OfE5m2, OfE4m3>(table, ".e5m2.e4m3");
  add_group_pair<OfE5m2, OfE5m2>(table, ".e5m2.e5m2");
  for (const std::string sparse : {"mma.sp", "mma.sp::ordered_metadata"}) {
    for (const char* shape : {".m16n8k16", ".m16n8k32"}) {
      add_types<OfF16, OfF16, 32, true>(table, sparse + shape, ".f16.f16");
      add_types<OfBf16, OfBf16, 32, true>(table, sparse + shape, ".bf16.bf16");
    }
    for (const char* shape : {".m16n8k8", ".m16n8k16"})
      add_types<OfTf32, OfTf32, 16, true>(table, sparse + shape, ".tf32.tf32");
    add_bytes<32, true>(table, sparse + ".m16n8k64");
  }
  for (const char* shape : {"mma.m8n8k4", "mma.m16n8k4", "mma.m16n8k8", "mma.m16n8k16"})
    table.add(shape, "f64.f64.f64.f64", doubles);
}

} // namespace gmt::executor
