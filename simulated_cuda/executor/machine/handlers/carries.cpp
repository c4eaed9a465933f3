// SPDX-License-Identifier: Apache-2.0
// Arithmetic of integers that reads or writes the carry: add.cc, addc, subc, mad.cc and madc.
#include "simulated_cuda/executor/machine/handlers/lanes.h"

#include <string>
#include <type_traits>

namespace gmt::executor {
namespace {

// The carry is a predicate of the frame: `extra` is its offset. Form is add, sub or mad of the low
// or high half; kIn reads the carry, kOut writes it. A subtraction adds the complement and 1: its
// carry is set where nothing is borrowed, which an addition behind it sees.
template <class T, int kKind, bool kIn, bool kOut>
Next with_carry(Warp& w, Next in) {
  const T* a = at<const T>(w, in->r[1]);
  const T* b = at<const T>(w, in->r[2]);
  const T* c = kKind >= 2 ? at<const T>(w, in->r[3]) : nullptr;
  T* d = at<T>(w, in->r[0]);
  u32& flags = predicate_at(w, in->extra);
  const u32 before = flags;
  u32 after = before;
  for_lanes(w.mask, [&](u32 l) {
    using X = u128;
    constexpr unsigned kBits = 8 * sizeof(T);
    X x = a[l], y = b[l];
    if constexpr (kKind == 2) {
      x = static_cast<T>(a[l] * b[l]);
      y = c[l];
    }
    if constexpr (kKind == 3) {
      x = static_cast<T>((X{a[l]} * b[l]) >> kBits);
      y = c[l];
    }
    if constexpr (kKind == 4) { // signed high half
      using S = std::make_signed_t<T>;
      x = static_cast<T>((static_cast<s128>(static_cast<S>(a[l])) * static_cast<S>(b[l])) >> kBits);
      y = c[l];
    }
    if constexpr (kKind == 1) y = static_cast<T>(~b[l]);
    const X carry = kIn ? (before >> l & 1) : (kKind == 1 ? 1 : 0);
    const X sum = x + y + carry;
    d[l] = static_cast<T>(sum);
    const bool out = (sum >> kBits & 1) != 0;
    after = (after & ~(1u << l)) | (out ? 1u << l : 0);
  });
  if constexpr (kOut) flags = after;
  return in + 1;
}

template <class T, int kKind>
void add_carries(FormTable& table, const char* with, const char* name, const char* suffix) {
  const std::string out = std::string(name) + ".cc";
  const std::string in = std::string(with);
  const std::string both = in + ".cc";
  const auto form = [&](const std::string& text) { return text + "." + suffix; };
  table.add(form(out).c_str(), with_carry<T, kKind, false, true>);
  table.add(form(in).c_str(), with_carry<T, kKind, true, false>);
  table.add(form(both).c_str(), with_carry<T, kKind, true, true>);
}

template <class T, int kKind>
void add_mad_carries(FormTable& table, const char* part, const char* suffix) {
  const std::string p = part;
  table.add(("mad." + p + ".cc." + suffix).c_str(), with_carry<T, kKind, false, true>);
  table.add(("madc." + p + "." + suffix).c_str(), with_carry<T, kKind, true, false>);
  table.add(("madc." + p + ".cc." + suffix).c_str(), with_carry<T, kKind, true, true>);
}

} // namespace

void GMT_GROUP(carries)(FormTable& table) {
  for (const char* suffix : {"u32", "s32", "b32"}) {
    add_carries<u32, 0>(table, "addc", "add", suffix);
    add_carries<u32, 1>(table, "subc", "sub", suffix);
    add_mad_carries<u32, 2>(table, "lo", suffix);
  }
  for (const char* suffix : {"u64", "s64", "b64"}) {
    add_carries<u64, 0>(table, "addc", "add", suffix);
    add_carries<u64, 1>(table, "subc", "sub", suffix);
    add_mad_carries<u64, 2>(table, "lo", suffix);
  }
  add_mad_carries<u32, 3>(table, "hi", "u32");
  add_mad_carries<u32, 4>(table, "hi", "s32");
  add_mad_carries<u64, 3>(table, "hi", "u64");
  add_mad_carries<u64, 4>(table, "hi", "s64");
}

} // namespace gmt::executor
