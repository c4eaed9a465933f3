// SPDX-License-Identifier: Apache-2.0
// Moves, packing and unpacking of registers, and special registers.
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/handlers/global.h"
#include "simulated_cuda/executor/machine/special.h"

namespace gmt::executor {
namespace {

template <class T>
Next move(Warp& w, Next in) {
  const T* a = at<const T>(w, in->r[1]);
  T* d = at<T>(w, in->r[0]);
  if (w.mask == kAll) std::memmove(d, a, sizeof(T) * kLanes);
  else blend(d, a, w.mask);
  return in + 1;
}

// mov.b64 d, {a, b}: the first part lies lowest. r[4] is the whole.
template <u32 kBytes, u32 kCount>
Next pack(Warp& w, Next in) {
  using T = typename ElementType<kBytes>::type;
  using P = typename ElementType<kBytes / kCount>::type;
  T* d = at<T>(w, in->r[4]);
  const P* parts[kCount];
  for (u32 i = 0; i < kCount; ++i) parts[i] = at<const P>(w, in->r[i]);
  alignas(64) T t[kLanes];
  for (u32 l = 0; l < kLanes; ++l) {
    P all[kCount];
    for (u32 i = 0; i < kCount; ++i) all[i] = parts[i][l];
    std::memcpy(t + l, all, kBytes);
  }
  blend(d, t, w.mask);
  return in + 1;
}
template <u32 kBytes, u32 kCount>
Next unpack(Warp& w, Next in) {
  using T = typename ElementType<kBytes>::type;
  using P = typename ElementType<kBytes / kCount>::type;
  alignas(64) T whole[kLanes];
  std::memcpy(whole, at<const T>(w, in->r[4]), sizeof whole);
  for (u32 i = 0; i < kCount; ++i) {
    alignas(64) P t[kLanes];
    for (u32 l = 0; l < kLanes; ++l) {
      P all[kCount];
      std::memcpy(all, whole + l, kBytes);
      t[l] = all[i];
    }
    blend(at<P>(w, in->r[i]), t, w.mask);
  }
  return in + 1;
}

template <class T>
Next special(Warp& w, Next in) {
  alignas(64) T t[kLanes];
  u64 first = 0;
  u64 lanes[kLanes];
  if (read_special(w, in->extra, &first, lanes)) {
    const T value = static_cast<T>(first);
    GMT_LANES t[l] = value;
  } else {
    GMT_LANES t[l] = static_cast<T>(lanes[l]);
  }
  blend(at<T>(w, in->r[0]), t, w.mask);
  return in + 1;
}

Next nothing(Warp&, Next in) { return in + 1; }

// Where an address lies: kKind is 0 global, 1 shared, 2 local, 3 param.
template <int kKind>
Next is_in_space(Warp& w, Next in) {
  const u64* a = at<const u64>(w, in->r[1]);
  static constexpr u64 kWindows[] = {0, kSharedWindow, kLocalWindow, kParameterWindow};
  u32 value = 0;
  for (u32 l = 0; l < kLanes; ++l) {
    bool is = a[l] < kSharedWindow;
    if constexpr (kKind != 0) is = a[l] - kWindows[kKind] < kWindowBytes;
    value |= is ? 1u << l : 0;
  }
  set_predicate(w, in->r[0], value);
  return in + 1;
}

} // namespace

void GMT_GROUP(moves)(FormTable& table) {
  table.add("mov.b8", move<u8>);
  table.add("mov.b16", move<u16>);
  table.add("mov.b32", move<u32>);
  table.add("mov.b64", move<u64>);
  table.add("mov.b128", move<b128>);
  table.add("pack.v2.b16", pack<2, 2>);
  table.add("pack.v2.b32", pack<4, 2>);
  table.add("pack.v4.b32", pack<4, 4>);
  table.add("pack.v2.b64", pack<8, 2>);
  table.add("pack.v4.b64", pack<8, 4>);
  table.add("pack.v2.b128", pack<16, 2>);
  table.add("pack.v4.b128", pack<16, 4>);
  table.add("unpack.v2.b16", unpack<2, 2>);
  table.add("unpack.v2.b32", unpack<4, 2>);
  table.add("unpack.v4.b32", unpack<4, 4>);
  table.add("unpack.v2.b64", unpack<8, 2>);
  table.add("unpack.v4.b64", unpack<8, 4>);
  table.add("unpack.v2.b128", unpack<16, 2>);
  table.add("unpack.v4.b128", unpack<16, 4>);
  table.add("special.b32", special<u32>);
  table.add("special.b64", special<u64>);
  table.add("isspacep.global", is_in_space<0>);
  table.add("isspacep.const", is_in_space<0>);
  table.add("isspacep.shared", is_in_space<1>);
  table.add("isspacep.local", is_in_space<2>);
  table.add("isspacep.param", is_in_space<3>);
  table.add("nop", nothing);
}

} // namespace gmt::executor
