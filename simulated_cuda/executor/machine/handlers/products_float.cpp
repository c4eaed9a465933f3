// SPDX-License-Identifier: Apache-2.0
// mma of floats, bit by bit as an H100 computes them. tensor_sum.h says how a sum is made.
#include "simulated_cuda/executor/machine/handlers/products.h"
#include "simulated_cuda/executor/machine/handlers/tensor_sum.h"

#include <string>
#include <type_traits>

namespace gmt::executor {
namespace {

// The formats: how many products a step sums, and in which order steps take them. Numbers of 8 bits
// are those of f16, and an H100 makes these of them before it multiplies.
struct OfF16 {
  using Bits = u16;
  static constexpr s32 kLeast = -14;
  // As F16::widen, without branches, so that a row is widened at once.
  static f32 widen(u16 v) {
    const f32 magnitude = as_f32((u32{v} & 0x7fff) << 13) * 0x1p112f; // the bias is 15, not 127
    const u32 not_finite = magnitude >= 0x1p16f ? 0x7f800000u : 0u;
    return as_f32(bits(magnitude) | not_finite | (u32{v} & 0x8000) << 16);
  }
};
struct OfBf16 {
  using Bits = u16;
  static constexpr s32 kLeast = -126;
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
template <class Format, u32 kTogether>
void widen_row(f32* __restrict value, const std::byte* from, u32 count) {
  alignas(64) typename Format::Bits row[kMostRowBytes / sizeof(typename Format::Bits)];
  if constexpr (sizeof(typename Format::Bits) == 1) {
    for (u32 i = 0; i < count; i += kTogether)
      std::memcpy(row + i, from + own_position(i, count, kTogether), kTogether);
  } else {
    std::memcpy(row, from, kMostRowBytes);
  }
  for (u32 i = 0; i < count; ++i) value[i] = Format::widen(row[i]);
}
// Whether all are finite.
template <class Format>
bool take_exponents(s32* __restrict exponent, const f32* __restrict value, u32 count) {
  s32 most = 0;
  for (u32 i = 0; i < count; ++i) {
    exponent[i] = exponent_of<Format::kLeast>(value[i]);
    most = exponent[i] > most ? exponent[i] : most;
  }
  return most != kNotFinite;
}

// wgmma multiplies numbers of 8 bits as they are.
template <class Format>
struct Own : Format {
  static constexpr s32 kLeast = Format::kOwnLeast;
};

template <class Format, u32 kTogether>
void take_columns(TensorColumns& to, const std::byte* columns, u32 count) {
  alignas(64) f32 value[kBlock][kMostElements];
  for (u32 n = 0; n < kBlock; ++n)
    widen_row<Format, kTogether>(value[n], columns + n * kMostRowBytes, count);
  for (u32 k = 0; k < count; ++k) {
    for (u32 n = 0; n < kBlock; ++n) to.value[k][n] = value[n][k];
  }
  to.is_finite = take_exponents<Format>(to.exponent[0], to.value[0], count * kColumns);
}

// C and D of f16: a register has two columns of a row, and 8 rows.
void take_halves(Warp& w, const std::vector<u32>& registers, f32* tile) {
  for (u32 i = 0; i < registers.size(); ++i) {
    u16 halves[2 * kLanes];
    std::memcpy(halves, at<const u32>(w, registers[i]), sizeof halves);
    for (u32 l = 0; l < 2 * kLanes; ++l) tile[i * 2 * kLanes + l] = F16::widen(halves[l]);
  }
}
void give_halves(Warp& w, const std::vector<u32>& registers, const f32* tile) {
  for (u32 i = 0; i < registers.size(); ++i) {
    u16 halves[2 * kLanes];
    for (u32 l = 0; l < 2 * kLanes; ++l) halves[l] = F16::narrow(tile[i * 2 * kLanes + l]);
    alignas(64) u32 t[kLanes];
    std::memcpy(t, halves, sizeof t);
    blend(at<u32>(w, registers[i]), t, w.mask);
  }
}

// kStep: products of one sum, those of zeros that a sparse A leaves out included.
template <class A, class B, u32 kStep, bool kHalfC, bool kHalfD, bool kSparse,
          s32 kLowestBit = kBelow>
Next floats(Warp& w, Next in) {
  Next next = nullptr;
  if (waits(w, in, &next)) return next;
  const Product& p = product_of(w, in);
  alignas(64) std::byte rows[kMostRows * kMostRowBytes], columns[kBlock * kMostRowBytes];
  alignas(64) f32 tile[kMostRows * kBlock];
  TensorColumns b;
  TensorRow a;
  constexpr bool kBytes = sizeof(typename A::Bits) == 1;
  constexpr u32 kUnit = kBytes ? 1 : 2, kTogether = kSparse ? 4 : 2;
  // An H100 adds C behind the steps, as add.f32 does, where it makes numbers of f16 of bytes.
  constexpr bool kAddsBehind = kBytes && kLowestBit == kBelow;
  take_rows(w, p.a, p.m / kBlock, rows);
  u64 present[kMostRows];
  if constexpr (kSparse)
    spread_rows<kUnit>(w, p, p.k * u32{sizeof(typename A::Bits)}, rows, present);
  take_rows(w, p.b, 1, columns);
  if constexpr (kHalfC) take_halves(w, p.c, tile);
  else take_tile(w, p.c, reinterpret_cast<u32*>(tile));
  take_columns<B, kTogether>(b, columns, p.k);
  alignas(64) f32 c[kMostRows * kBlock];
  if constexpr (kAddsBehind) {
    std::memcpy(c, tile, sizeof c);
    std::memset(tile, 0, sizeof tile);
  }
  for (u32 m = 0; m < p.m; ++m) {
    widen_row<A, kTogether>(a.value, rows + m * kMostRowBytes, p.k);
    a.is_finite = take_exponents<A>(a.exponent, a.value, p.k);
    if constexpr (kSparse) {
      constexpr u32 kUnits = sizeof(typename A::Bits) / kUnit;
      for (u32 k = 0; k < p.k; ++k) {
        const u32 own = kBytes ? own_position(k, p.k, kTogether) : k;
        if ((present[m] >> (own * kUnits) & ((1u << kUnits) - 1)) == 0) a.exponent[k] = kAbsent;
      }
    }
    for (u32 k = 0; k < p.k; k += kStep) {
      const u32 end = k + kStep < p.k ? k + kStep : p.k;
      if constexpr (kHalfC && kHalfD) add_step_halves<kLowestBit>(a, b, k, end, tile + m * kBlock);
      else add_step<kLowestBit>(a, b, k, end, tile + m * kBlock);
    }
  }
  if constexpr (kAddsBehind) {
    for (u32 i = 0; i < p.m * kBlock; ++i)
      tile[i] = kHalfD ? F16::widen(F16::narrow(f64{c[i]} + f64{tile[i]}))
                       : out_f32<false, false>(c[i] + tile[i]);
  }
  if constexpr (kHalfD) give_halves(w, p.d, tile);
  else give_tile(w, p.d, reinterpret_cast<const u32*>(tile));
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
