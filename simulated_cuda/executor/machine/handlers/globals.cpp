// SPDX-License-Identifier: Apache-2.0
// Loads and stores by global and generic addresses.
#include "simulated_cuda/executor/machine/handlers/global.h"

namespace gmt::executor {
namespace {

template <bool kStore, class T, u32 kCount>
Next global_access(Warp& w, Next in) {
  return access_global<kStore, T, kCount>(w, in, at<const u64>(w, in->r[4]), Space::kGlobal);
}

// Windows of other spaces lie above all global addresses.
template <bool kStore, class T, u32 kCount>
Next generic_access(Warp& w, Next in) {
  const u64* a = at<const u64>(w, in->r[4]);
  const u64 first = a[__builtin_ctz(w.mask)] + static_cast<u64>(in->immediate);
  if (first < kSharedWindow) return access_global<kStore, T, kCount>(w, in, a, Space::kGeneric);
  return access_by_lane<kStore, T, kCount>(w, in, Space::kGeneric, a);
}

template <bool kStore>
void add_global_accesses(FormTable& table, const std::string& verb) {
  add_vectors(table, verb + ".global", "",
              []<class T, u32 kCount>() -> Handler { return global_access<kStore, T, kCount>; });
  add_vectors(table, verb + ".generic", "",
              []<class T, u32 kCount>() -> Handler { return generic_access<kStore, T, kCount>; });
}

} // namespace

void GMT_GROUP(globals)(FormTable& table) {
  add_global_accesses<false>(table, "ld");
  add_global_accesses<true>(table, "st");
}

} // namespace gmt::executor
