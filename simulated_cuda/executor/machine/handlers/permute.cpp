// SPDX-License-Identifier: Apache-2.0
// prmt: bytes of two registers in another order.
#include "simulated_cuda/executor/machine/handlers/lanes.h"

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

} // namespace

void GMT_GROUP(permute)(FormTable& table) {
  table.add("prmt.b32", map3<PrmtGeneral>);
  table.add("prmt.b32.f4e", map3<Prmt<kF4e>>);
  table.add("prmt.b32.b4e", map3<Prmt<kB4e>>);
  table.add("prmt.b32.rc8", map3<Prmt<kRc8>>);
  table.add("prmt.b32.ecl", map3<Prmt<kEcl>>);
  table.add("prmt.b32.ecr", map3<Prmt<kEcr>>);
  table.add("prmt.b32.rc16", map3<Prmt<kRc16>>);
}

} // namespace gmt::executor
