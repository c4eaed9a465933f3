// SPDX-License-Identifier: Apache-2.0
// Bytes and halves of registers: prmt puts them in another order, vadd4 and its like compute with
// each of them.
#include "simulated_cuda/executor/machine/handlers/lanes.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>

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

// vop4 and vop2 of all parts of a and b, which are both signed or both unsigned. In another mode
// than kEach they saturate, or their sum is added to c.
enum Video { kVideoAdd, kVideoSub, kVideoAverage, kVideoDifference, kVideoLeast, kVideoGreatest };
enum VideoMode { kEach, kSaturated, kAdded };

template <Video kOp>
s32 video(s32 a, s32 b) {
  switch (kOp) {
  case kVideoAdd: return a + b;
  case kVideoSub: return a - b;
  case kVideoAverage: return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
  case kVideoDifference: return a < b ? b - a : a - b;
  case kVideoLeast: return a < b ? a : b;
  case kVideoGreatest: return a < b ? b : a;
  }
  return 0;
}

// S is the type of a part of the sources, R that of the results.
template <class S, class R, Video kOp, VideoMode kMode>
struct VideoParts : Same<u32> {
  static constexpr bool kScalar = true;
  static u32 f(u32 a, u32 b, u32 c) {
    constexpr u32 kBits = 8 * sizeof(S);
    u32 result = kMode == kAdded ? c : 0;
    for (u32 at = 0; at < 32; at += kBits) {
      s32 part = video<kOp>(static_cast<S>(a >> at), static_cast<S>(b >> at));
      if constexpr (kMode == kAdded) {
        result += static_cast<u32>(part);
        continue;
      }
      if constexpr (kMode == kSaturated) {
        using Range = std::numeric_limits<R>;
        part = std::clamp(part, static_cast<s32>(Range::min()), static_cast<s32>(Range::max()));
      }
      result |= (static_cast<u32>(part) & ((1u << kBits) - 1)) << at;
    }
    return result;
  }
};

template <class S, class R, Video kOp>
void add_video_types(FormTable& table, const std::string& start) {
  const std::string source = std::is_signed_v<S> ? ".s32" : ".u32";
  const std::string types = (std::is_signed_v<R> ? ".s32" : ".u32") + source + source;
  table.add((start + types).c_str(), map3<VideoParts<S, R, kOp, kEach>>);
  table.add((start + types + ".sat").c_str(), map3<VideoParts<S, R, kOp, kSaturated>>);
  table.add((start + types + ".add").c_str(), map3<VideoParts<S, R, kOp, kAdded>>);
}
template <Video kOp>
void add_video(FormTable& table, const std::string& name) {
  add_video_types<u8, u8, kOp>(table, name + "4");
  add_video_types<u8, s8, kOp>(table, name + "4");
  add_video_types<s8, u8, kOp>(table, name + "4");
  add_video_types<s8, s8, kOp>(table, name + "4");
  add_video_types<u16, u16, kOp>(table, name + "2");
  add_video_types<u16, s16, kOp>(table, name + "2");
  add_video_types<s16, u16, kOp>(table, name + "2");
  add_video_types<s16, s16, kOp>(table, name + "2");
}

// vset4 and vset2: 1 for each part of a that compares so with that of b, else 0; or their number is
// added to c.
template <class First, class Second, class Compare, bool kIsSum>
struct VideoSet : Same<u32> {
  static constexpr bool kScalar = true;
  static u32 f(u32 a, u32 b, u32 c) {
    u32 result = kIsSum ? c : 0;
    for (u32 at = 0; at < 32; at += 8 * sizeof(First)) {
      const u32 is_so =
        Compare()(s32{static_cast<First>(a >> at)}, s32{static_cast<Second>(b >> at)}) ? 1 : 0;
      result += kIsSum ? is_so : is_so << at;
    }
    return result;
  }
};

template <class First, class Second, class Compare>
void add_video_set(FormTable& table, const char* compare) {
  const std::string types = std::string(std::is_signed_v<First> ? ".s32" : ".u32") +
                            (std::is_signed_v<Second> ? ".s32" : ".u32");
  const std::string form = (sizeof(First) == 1 ? "vset4" : "vset2") + types + compare;
  table.add(form.c_str(), map3<VideoSet<First, Second, Compare, false>>);
  table.add((form + ".add").c_str(), map3<VideoSet<First, Second, Compare, true>>);
}
template <class Compare>
void add_video_sets(FormTable& table, const char* compare) {
  add_video_set<u8, u8, Compare>(table, compare);
  add_video_set<u8, s8, Compare>(table, compare);
  add_video_set<s8, u8, Compare>(table, compare);
  add_video_set<s8, s8, Compare>(table, compare);
  add_video_set<u16, u16, Compare>(table, compare);
  add_video_set<u16, s16, Compare>(table, compare);
  add_video_set<s16, u16, Compare>(table, compare);
  add_video_set<s16, s16, Compare>(table, compare);
}

} // namespace

void GMT_GROUP(permute)(FormTable& table) {
  add_video<kVideoAdd>(table, "vadd");
  add_video<kVideoSub>(table, "vsub");
  add_video<kVideoAverage>(table, "vavrg");
  add_video<kVideoDifference>(table, "vabsdiff");
  add_video<kVideoLeast>(table, "vmin");
  add_video<kVideoGreatest>(table, "vmax");
  add_video_sets<std::equal_to<>>(table, ".eq");
  add_video_sets<std::not_equal_to<>>(table, ".ne");
  add_video_sets<std::less<>>(table, ".lt");
  add_video_sets<std::less_equal<>>(table, ".le");
  add_video_sets<std::greater<>>(table, ".gt");
  add_video_sets<std::greater_equal<>>(table, ".ge");
  table.add("prmt.b32", map3<PrmtGeneral>);
  table.add("prmt.b32.f4e", map3<Prmt<kF4e>>);
  table.add("prmt.b32.b4e", map3<Prmt<kB4e>>);
  table.add("prmt.b32.rc8", map3<Prmt<kRc8>>);
  table.add("prmt.b32.ecl", map3<Prmt<kEcl>>);
  table.add("prmt.b32.ecr", map3<Prmt<kEcr>>);
  table.add("prmt.b32.rc16", map3<Prmt<kRc16>>);
}

} // namespace gmt::executor
