// SPDX-License-Identifier: Apache-2.0
// setp and set for f16, bf16 and pairs of them. Of a pair, setp gives a predicate for each half.
#include "simulated_cuda/executor/machine/handlers/halves.h"

#include <string>
#include <type_traits>

namespace gmt::executor {
namespace {

template <class H, bool kFlush>
f32 value(u32 pattern) {
  auto h = static_cast<u16>(pattern);
  if (kFlush && (h & H::kExponent) == 0) h &= 0x8000;
  return H::widen(h);
}

// One function for all comparisons: speed matters less here than the time to compile.
template <class H, bool kFlush, bool kPair>
[[gnu::noinline]] void lanes_that(Warp& w, Next in, Comparison comparison, u32* low, u32* high) {
  using T = std::conditional_t<kPair, u32, u16>;
  const T* a = at<const T>(w, in->r[2]);
  const T* b = at<const T>(w, in->r[3]);
  const u32 c = in->r[4] != kNoOperand ? predicate_at(w, in->r[4]) : 0;
  const u32 how = in->r[4] != kNoOperand ? in->extra : 0;
  u32 first = 0, second = 0;
  for_lanes(w.mask, [&](u32 l) {
    first |= compare(comparison, value<H, kFlush>(a[l]), value<H, kFlush>(b[l])) ? 1u << l : 0;
    if (kPair)
      second |=
        compare(comparison, value<H, kFlush>(u32{a[l]} >> 16), value<H, kFlush>(u32{b[l]} >> 16))
          ? 1u << l
          : 0;
  });
  *high = kPair ? joined(how, second, c) : joined(how, ~first, c);
  *low = joined(how, first, c);
}

template <class H, Comparison kC, bool kFlush, bool kPair>
Next set_predicates(Warp& w, Next in) {
  u32 low = 0, high = 0;
  lanes_that<H, kFlush, kPair>(w, in, kC, &low, &high);
  if (in->r[0] != kNoOperand) set_predicate(w, in->r[0], low);
  if (in->r[1] != kNoOperand) set_predicate(w, in->r[1], high);
  return in + 1;
}

// `yes` is what a comparison that holds gives; of a pair, for each half.
template <bool kPair, class D>
[[gnu::noinline]] void write_values(Warp& w, Next in, u32 low, u32 high, u32 yes) {
  D* d = at<D>(w, in->r[0]);
  for_lanes(w.mask, [&](u32 l) {
    u32 result = (low >> l & 1) != 0 ? yes : 0;
    if (kPair && (high >> l & 1) != 0) result |= yes << 16;
    d[l] = static_cast<D>(result);
  });
}

template <class H, Comparison kC, bool kFlush, bool kPair, class D, u32 kTrue>
Next set_values(Warp& w, Next in) {
  u32 low = 0, high = 0;
  lanes_that<H, kFlush, kPair>(w, in, kC, &low, &high);
  write_values<kPair, D>(w, in, low, high, kTrue);
  return in + 1;
}

template <class H, Comparison kC, bool kFlush>
void add_one(FormTable& table, const char* comparison, const std::string& type) {
  const std::string middle = std::string(comparison) + (kFlush ? ".ftz." : ".");
  const std::string pair = type + "x2";
  table.add(("setp." + middle + type).c_str(), set_predicates<H, kC, kFlush, false>);
  table.add(("setp." + middle + pair).c_str(), set_predicates<H, kC, kFlush, true>);
  const std::string set = "set." + middle;
  for (const char* to : {"u32.", "s32."})
    table.add((set + to + type).c_str(), set_values<H, kC, kFlush, false, u32, ~0u>);
  for (const char* to : {"u16.", "s16."})
    table.add((set + to + type).c_str(), set_values<H, kC, kFlush, false, u16, 0xffffu>);
  table.add((set + type + "." + type).c_str(), set_values<H, kC, kFlush, false, u16, H::kOne>);
  table.add((set + pair + "." + pair).c_str(), set_values<H, kC, kFlush, true, u32, H::kOne>);
  for (const char* to : {"u32.", "s32."})
    table.add((set + to + pair).c_str(), set_values<H, kC, kFlush, true, u32, 0xffffu>);
}

template <class H, bool kFlush>
void add_type(FormTable& table, const std::string& type) {
  for_all_comparisons(
    [&]<Comparison kC>(const char* name) { add_one<H, kC, kFlush>(table, name, type); });
}

} // namespace

void GMT_GROUP(compare_half)(FormTable& table) {
  add_type<F16, false>(table, "f16");
  add_type<F16, true>(table, "f16");
  add_type<Bf16, false>(table, "bf16");
}

} // namespace gmt::executor
