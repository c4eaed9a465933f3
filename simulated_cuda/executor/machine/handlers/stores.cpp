// SPDX-License-Identifier: Apache-2.0
// Stores by global and generic addresses.
#include "simulated_cuda/executor/machine/handlers/global.h"

namespace gmt::executor {
namespace {

template <class T, u32 kCount>
Next global(Warp& w, Next in) {
  access_global<true, T, kCount>(w, in, at<const u64>(w, in->r[4]), Space::kGlobal);
  return in + 1;
}

// Windows of other spaces lie above all global addresses.
template <class T, u32 kCount>
Next generic(Warp& w, Next in) {
  const u64* a = at<const u64>(w, in->r[4]);
  const u64 first = a[__builtin_ctz(w.mask)] + static_cast<u64>(in->immediate);
  if (first < kSharedWindow) access_global<true, T, kCount>(w, in, a, Space::kGeneric);
  else store_by_lane(w, in, Space::kGeneric, a, sizeof(T), kCount);
  return in + 1;
}

template <u32 kCount>
void add_count(FormTable& table, const char* space, const char* vector, bool is_generic) {
  const std::string start = std::string("st.") + space + vector;
  const auto add = [&](const char* type, Handler in_global, Handler in_generic) {
    table.add((start + type).c_str(), is_generic ? in_generic : in_global);
  };
  add(".b8", global<u8, kCount>, generic<u8, kCount>);
  add(".b16", global<u16, kCount>, generic<u16, kCount>);
  add(".b32", global<u32, kCount>, generic<u32, kCount>);
  if constexpr (kCount <= 2) add(".b64", global<u64, kCount>, generic<u64, kCount>);
  if constexpr (kCount == 1) add(".b128", global<b128, kCount>, generic<b128, kCount>);
}

} // namespace

void GMT_GROUP(stores)(FormTable& table) {
  for (const bool is_generic : {false, true}) {
    const char* space = is_generic ? "generic" : "global";
    add_count<1>(table, space, "", is_generic);
    add_count<2>(table, space, ".v2", is_generic);
    add_count<4>(table, space, ".v4", is_generic);
  }
}

} // namespace gmt::executor
