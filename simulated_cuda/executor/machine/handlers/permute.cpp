// SPDX-License-Identifier: Apache-2.0
// Bytes and halves of registers: prmt puts them in another order, vadd4 and its like compute with
// them.
#include "simulated_cuda/executor/machine/handlers/lanes.h"
#include "simulated_cuda/executor/program/video_form.h"

#include <algorithm>
#include <bit>

namespace gmt::executor {
namespace {

u32 byte_of(u32 a, u32 b, u32 selector) {
  const u64 both = u64{b} << 32 | a;
  const u32 byte = static_cast<u32>(both >> (8 * (selector & 7))) & 0xff;
  if ((selector & 8) == 0) return byte;
  return (byte & 0x80) != 0 ? 0xff : 0;
}
struct PrmtGeneral : Same<u32> {
  static u32 f(u32 a, u32 b, u32 c) {
    u32 result = 0;
    for (u32 i = 0; i < 4; ++i) result |= byte_of(a, b, c >> (4 * i) & 15) << (8 * i);
    return result;
  }
};
// Other modes of prmt choose bytes by two bits of c.
struct PrmtMode {
  u8 selectors[4][4];
};
constexpr PrmtMode kF4e = {{{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}};
constexpr PrmtMode kB4e = {{{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}};
constexpr PrmtMode kRc8 = {{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}};
constexpr PrmtMode kEcl = {{{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}};
constexpr PrmtMode kEcr = {{{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}};
constexpr PrmtMode kRc16 = {{{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}};
template <const PrmtMode& kMode>
struct Prmt : Same<u32> {
  static u32 f(u32 a, u32 b, u32 c) {
    u32 result = 0;
    for (u32 i = 0; i < 4; ++i) result |= byte_of(a, b, kMode.selectors[c & 3][i]) << (8 * i);
    return result;
  }
};

s128 video(const VideoForm& form, s128 a, s128 b, u32 c) {
  switch (static_cast<Video>(form.operation)) {
  case Video::kAdd: return a + b;
  case Video::kSub: return a - b;
  case Video::kAverage: return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
  case Video::kDifference: return a < b ? b - a : a - b;
  case Video::kLeast: return a < b ? a : b;
  case Video::kGreatest: return a < b ? b : a;
  case Video::kLeft: return a << (form.wraps ? b & 31 : std::min<s128>(b, 32));
  case Video::kRight: return a >> (form.wraps ? b & 31 : std::min<s128>(b, 32));
  case Video::kEqual: return a == b ? 1 : 0;
  case Video::kUnequal: return a != b ? 1 : 0;
  case Video::kLess: return a < b ? 1 : 0;
  case Video::kLessOrEqual: return a <= b ? 1 : 0;
  case Video::kProduct: break;
  }
  const s128 product = form.negates_product ? -(a * b) : a * b;
  const s128 third = form.is_result_signed ? s128{static_cast<s32>(c)} : s128{c};
  return product + (form.negates_third ? -third : third) + form.plus_one;
}

s128 part_of(u64 both, u32 at, u32 bytes, bool is_signed) {
  const u32 unused = 64 - 8 * bytes;
  const u64 high = both >> (8 * bytes * at) << unused;
  return is_signed ? s128{static_cast<s64>(high) >> unused} : s128{high >> unused};
}

s128 saturated(s128 value, u32 bytes, bool is_signed) {
  const s128 values = s128{1} << (8 * bytes);
  return is_signed ? std::clamp(value, -values / 2, values / 2 - 1)
                   : std::clamp(value, s128{0}, values - 1);
}

u32 video_result(const VideoForm& form, u32 a, u32 b, u32 c) {
  const u64 both = u64{b} << 32 | a;
  const u32 bits = 8 * static_cast<u32>(form.result_bytes);
  u32 result = c;
  for (u32 part = 0; part < form.parts; ++part) {
    if ((form.mask >> part & 1) == 0) continue;
    const auto chosen = [&](u64 list, u64 bytes, bool is_signed) {
      return part_of(both, static_cast<u32>(list >> (3 * part) & 7), static_cast<u32>(bytes),
                     is_signed);
    };
    s128 value = video(form, chosen(form.first, form.first_bytes, form.is_first_signed),
                       chosen(form.second, form.second_bytes, form.is_second_signed), c);
    if (form.saturates)
      value = saturated(value, static_cast<u32>(form.result_bytes), form.is_result_signed);
    const u32 low = static_cast<u32>(value);
    if (form.adds) {
      result += low;
      continue;
    }
    const u32 all = bits == 32 ? kAll : (1u << bits) - 1;
    result = (result & ~(all << (bits * part))) | (low & all) << (bits * part);
  }
  return result;
}

Next video(Warp& w, Next in) {
  const auto form = std::bit_cast<VideoForm>(in->immediate);
  const u32 *a = at<const u32>(w, in->r[1]), *b = at<const u32>(w, in->r[2]),
            *c = at<const u32>(w, in->r[3]);
  u32* d = at<u32>(w, in->r[0]);
  for_lanes(w.mask, [&](u32 l) { d[l] = video_result(form, a[l], b[l], c[l]); });
  return in + 1;
}

} // namespace

void GMT_GROUP(permute)(FormTable& table) {
  table.add("video", kLowestLevel ? Handler{video} : Handler{nullptr});
  table.add("prmt.b32", map3<PrmtGeneral>);
  table.add("prmt.b32.f4e", map3<Prmt<kF4e>>);
  table.add("prmt.b32.b4e", map3<Prmt<kB4e>>);
  table.add("prmt.b32.rc8", map3<Prmt<kRc8>>);
  table.add("prmt.b32.ecl", map3<Prmt<kEcl>>);
  table.add("prmt.b32.ecr", map3<Prmt<kEcr>>);
  table.add("prmt.b32.rc16", map3<Prmt<kRc16>>);
}

} // namespace gmt::executor
