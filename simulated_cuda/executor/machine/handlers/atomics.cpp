// SPDX-License-Identifier: Apache-2.0
// Atomics and reductions, lane by lane in their order. Each is an atomic of the host, so that
// blocks of several workers agree. `extra` is the space.
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/flag_words.h"
#include "simulated_cuda/executor/machine/grid_ordering.h"
#include "simulated_cuda/executor/machine/handlers/global_races.h"
#include "simulated_cuda/executor/machine/handlers/halves.h"
#include "simulated_cuda/executor/program/access_strength.h"

#include <string>
#include <type_traits>

namespace gmt::executor {
namespace {

Space space_of(Next in) {
  switch (static_cast<ptx::Space>(in->extra & 0x3f)) {
  case ptx::Space::kShared: return Space::kShared;
  case ptx::Space::kGlobal: return Space::kGlobal;
  case ptx::Space::kLocal: return Space::kLocal;
  default: return Space::kGeneric;
  }
}

// Of each operation: f(old, b, c) is the new value, as a pattern.
template <class T>
struct AddInt {
  static T f(T old, T b, T) { return static_cast<T>(old + b); }
};
template <class T>
struct AndBits {
  static T f(T old, T b, T) { return static_cast<T>(old & b); }
};
template <class T>
struct OrBits {
  static T f(T old, T b, T) { return static_cast<T>(old | b); }
};
template <class T>
struct XorBits {
  static T f(T old, T b, T) { return static_cast<T>(old ^ b); }
};
template <class T>
struct Exchange {
  static T f(T, T b, T) { return b; }
};
template <class T>
struct CompareExchange {
  static T f(T old, T b, T c) { return old == b ? c : old; }
};
template <class T, class S>
struct Least {
  static T f(T old, T b, T) { return static_cast<S>(b) < static_cast<S>(old) ? b : old; }
};
template <class T, class S>
struct Greatest {
  static T f(T old, T b, T) { return static_cast<S>(old) < static_cast<S>(b) ? b : old; }
};
struct Increment {
  static u32 f(u32 old, u32 b, u32) { return old >= b ? 0 : old + 1; }
};
struct Decrement {
  static u32 f(u32 old, u32 b, u32) { return old == 0 || old > b ? b : old - 1; }
};
template <bool kFlush>
struct AddF32 {
  static u32 f(u32 old, u32 b, u32) {
    return bits(out_f32<kFlush, false>(in_f32<kFlush>(as_f32(old)) + in_f32<kFlush>(as_f32(b))));
  }
};
struct AddF64 {
  static u64 f(u64 old, u64 b, u64) {
    const f64 x = as_f64(old), y = as_f64(b);
    if (y != y) return b; // global memory of an H200 keeps a NaN as it is, also a signalling one
    return x != x ? old : bits(out_f64(x + y, x, y));
  }
};
struct AddF64InShared { // a loop of an addition and a compare-and-swap on an H200
  static u64 f(u64 old, u64 b, u64) {
    const f64 x = as_f64(old), y = as_f64(b);
    return bits(out_f64(y + x, y, x));
  }
};
template <class H>
struct AddHalf {
  static u16 f(u16 old, u16 b, u16) {
    return H::narrow(fma_to_odd(H::widen(old), 1.0f, H::widen(b)));
  }
};
template <class H>
struct AddHalves {
  static u32 f(u32 old, u32 b, u32) {
    const u32 low = AddHalf<H>::f(static_cast<u16>(old), static_cast<u16>(b), 0);
    const u32 high = AddHalf<H>::f(static_cast<u16>(old >> 16), static_cast<u16>(b >> 16), 0);
    return low | high << 16;
  }
};

// By one instruction of the host where it has one.
template <class T, class Op>
[[gnu::always_inline]] inline T apply_plain(T* at_host, T b, T c) {
  if constexpr (std::is_same_v<Op, AddInt<T>>)
    return __atomic_fetch_add(at_host, b, __ATOMIC_SEQ_CST);
  if constexpr (std::is_same_v<Op, Exchange<T>>)
    return __atomic_exchange_n(at_host, b, __ATOMIC_SEQ_CST);
  T old = __atomic_load_n(at_host, __ATOMIC_RELAXED);
  if constexpr (std::is_same_v<Op, CompareExchange<T>>) {
    old = b;
    __atomic_compare_exchange_n(at_host, &old, c, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
  }
  while (true) {
    const T next = Op::f(old, b, c);
    if (__atomic_compare_exchange_n(at_host, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
      return old;
  }
}

// cmpxchg16b, which the compilers call a library for. Returns what was there.
inline u128 compare_exchange(u128* at_host, u128 expected, u128 wanted) {
  u64 low = static_cast<u64>(expected), high = static_cast<u64>(expected >> 64);
  asm volatile("lock cmpxchg16b %[at]"
               : [at] "+m"(*at_host), "+a"(low), "+d"(high)
               : "b"(static_cast<u64>(wanted)), "c"(static_cast<u64>(wanted >> 64))
               : "memory", "cc");
  return u128{high} << 64 | low;
}

template <class Op>
u128 apply_wide(u128* at_host, u128 b, u128 c) {
  u128 old = compare_exchange(at_host, 0, 0);
  while (true) {
    const u128 next = Op::f(old, b, c), found = compare_exchange(at_host, old, next);
    if (found == old) return old;
    old = found;
  }
}

template <class T, class Op>
[[gnu::always_inline]] inline T apply(T* at_host, T b, T c) {
  if constexpr (sizeof(T) == sizeof(u128)) return apply_wide<Op>(at_host, b, c);
  else return apply_plain<T, Op>(at_host, b, c);
}

// Sums of f32 in global memory flush subnormal numbers, those in shared memory do not. Those of f64
// differ in what becomes of a NaN.
template <class Op>
struct InShared {
  using type = Op;
};
template <>
struct InShared<AddF32<true>> {
  using type = AddF32<false>;
};
template <>
struct InShared<AddF64> {
  using type = AddF64InShared;
};

bool is_shared(Space space, u64 address) {
  return space == Space::kShared ||
         (space == Space::kGeneric && address - kSharedWindow < kWindowBytes);
}

// An element of a vector that is not aligned as a whole; the first of them is reported.
template <class T>
[[gnu::always_inline]] inline bool is_misplaced(Next in, u64 address) {
  const u32 count = in->extra >> 8 & 0xff, index = in->extra >> 16;
  return count != 0 && ((address - index * sizeof(T)) & (count * sizeof(T) - 1)) != 0;
}

// Whether the entry is a weak one of the block, which an atomic behind it must not hide from other
// blocks: see hide_store() of GridOrdering.
[[gnu::always_inline]] inline bool is_hiding(const Warp& w, u64 x) {
  return static_cast<s64>(x) >= w.block->global.own && (x & global_race::kStrong) == 0;
}
// Only behind an atomic at the same place nothing is left to be asked.
[[gnu::always_inline]] inline bool may_hide_store(const Warp& w, u64 x, u64 now) {
  return is_hiding(w, x) &&
         (w.block->has_device_fence || global_race::site_of(x) != global_race::site_of(now));
}

// Whether the lane's atomic is plainly in no race: with accesses that all know, and other atomics.
template <class T>
[[gnu::always_inline]] inline bool race_atomic(const Warp& w, Next in, const Region& g, u64 rel,
                                               u32 lane) {
  if ((in->extra & kNarrowScope) != 0) return false;
  constexpr u32 kWords = sizeof(T) / 4;
  const RaceRow<kWords, 0> row(w, in, lane, w.id * kLanes + lane,
                               global_race::kMask | global_race::kStrong);
  const auto harmless = [&](u64 x) {
    const u64 strong = u64{row.is_known(x, row.now) != 0} << global_race::kMaskBits;
    return ((x | strong) & global_race::kStrong) != 0;
  };
  u64* stores = g.races.stores + rel / 4;
  const bool is_stored = claim_lines(w, g.races.lines, rel, sizeof(T), row.clock.stored);
  for (u32 i = 0; i < kWords; ++i) {
    const u64 x = stores[i];
    // A plain store of the same thread stays: it races with more
    if (!harmless(x) ||
        ((x ^ row.now) & (global_race::kWho | global_race::kStrong)) == global_race::kStrong)
      return false;
    if (!is_stored && !harmless(g.races.loads[rel / 4 + i])) return false;
    if (may_hide_store(w, x, row.now)) return false;
  }
  for (u32 i = 0; i < kWords; ++i)
    stores[i] = is_hiding(w, stores[i]) ? row.now & ~global_race::kStrong : row.now;
  return true;
}

template <class T, class Op, bool kReturns>
Next atomic(Warp& w, Next in) {
  const Space space = space_of(in);
  const u64* a = at<const u64>(w, in->r[1]);
  const T* b = at<const T>(w, in->r[2]);
  const T* c = in->r[3] != kNoOperand ? at<const T>(w, in->r[3]) : b;
  T* d = kReturns ? at<T>(w, in->r[0]) : nullptr;
  const bool may_be_flag = FlagWords::matter(*w.block);
  const FlagWords words = may_be_flag ? FlagWords(w, a, in->immediate, sizeof(T)) : FlagWords();
  words.release(w);
  for (u32 m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<u32>(__builtin_ctz(m));
    const u64 address = a[l] + static_cast<u64>(in->immediate);
    const Region& g = *w.region;
    const u64 rel = address - g.base;
    const bool misplaced = is_misplaced<T>(in, address);
    bool plain = !misplaced && space != Space::kShared && space != Space::kLocal &&
                 address < kSharedWindow && (address & (sizeof(T) - 1)) == 0 && sizeof(T) >= 4 &&
                 sizeof(T) <= 8 && rel < g.bytes && sizeof(T) <= g.bytes - rel &&
                 g.shadow[rel / 4] == 0xff && g.shadow[(rel + sizeof(T) - 1) / 4] == 0xff;
    if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
      if (plain && looks_for_races(w, g)) plain = race_atomic<T>(w, in, g, rel, l);
    }
    std::byte* host = g.host + rel;
    const u32 checked = misplaced ? u32{sizeof(T)} * (in->extra >> 8 & 0xff) : u32{sizeof(T)};
    if (misplaced && in->extra >> 16 != 0) host = nullptr;
    else if (!plain) host = atomic_target(w, in, l, space, address, checked, kReturns);
    if (host == nullptr) {
      if (kReturns) d[l] = 0;
      continue;
    }
    auto* cell = reinterpret_cast<T*>(host);
    using Shared = typename InShared<Op>::type;
    T old;
    if (!std::is_same_v<Op, Shared> && is_shared(space, address))
      old = apply<T, Shared>(cell, b[l], c[l]);
    else old = apply<T, Op>(cell, b[l], c[l]);
    if (kReturns) d[l] = old;
  }
  if (!kReturns) return in + 1;
  if (may_be_flag) words.acquire(w);
  else w.block->acquire();
  if (w.block->global.launch == 0 || w.mask == 0 || (in->extra & kNarrowScope) != 0 ||
      a[__builtin_ctz(w.mask)] >= kSharedWindow || !w.grid->ordering->delays().behind_atomic(w, in))
    return in + 1;
  const Next at = w.pause(in + 1);
  w.spinning = true; // other blocks have their turns
  return at;
}

template <class T, class Op>
void add(FormTable& table, const char* operation, const char* type) {
  const std::string end = std::string(operation) + "." + type;
  table.add(("atom." + end).c_str(), atomic<T, Op, true>);
  table.add(("red." + end).c_str(), atomic<T, Op, false>);
}

template <class T>
void add_bits(FormTable& table, const char* type) {
  add<T, AndBits<T>>(table, "and", type);
  add<T, OrBits<T>>(table, "or", type);
  add<T, XorBits<T>>(table, "xor", type);
}

} // namespace

void GMT_GROUP(atomics)(FormTable& table) {
  add<u32, AddInt<u32>>(table, "add", "u32");
  add<u32, AddInt<u32>>(table, "add", "s32");
  add<u64, AddInt<u64>>(table, "add", "u64");
  add<u64, AddInt<u64>>(table, "add", "s64");
  add<u32, AddF32<true>>(table, "add", "f32");
  add<u64, AddF64>(table, "add", "f64");
  add<u16, AddHalf<F16>>(table, "add", "f16");
  add<u16, AddHalf<Bf16>>(table, "add", "bf16");
  add<u32, AddHalves<F16>>(table, "add", "f16x2");
  add<u32, AddHalves<Bf16>>(table, "add", "bf16x2");
  add<u32, Increment>(table, "inc", "u32");
  add<u32, Decrement>(table, "dec", "u32");
  add<u32, Least<u32, u32>>(table, "min", "u32");
  add<u32, Least<u32, s32>>(table, "min", "s32");
  add<u64, Least<u64, u64>>(table, "min", "u64");
  add<u64, Least<u64, s64>>(table, "min", "s64");
  add<u32, Greatest<u32, u32>>(table, "max", "u32");
  add<u32, Greatest<u32, s32>>(table, "max", "s32");
  add<u64, Greatest<u64, u64>>(table, "max", "u64");
  add<u64, Greatest<u64, s64>>(table, "max", "s64");
  add_bits<u32>(table, "b32");
  add_bits<u64>(table, "b64");
  for (const char* type : {"b32", "u32", "s32", "f32"}) {
    add<u32, Exchange<u32>>(table, "exch", type);
    add<u32, CompareExchange<u32>>(table, "cas", type);
  }
  for (const char* type : {"b64", "u64", "s64", "f64"}) {
    add<u64, Exchange<u64>>(table, "exch", type);
    add<u64, CompareExchange<u64>>(table, "cas", type);
  }
  add<u16, CompareExchange<u16>>(table, "cas", "b16");
  add<u128, Exchange<u128>>(table, "exch", "b128");
  add<u128, CompareExchange<u128>>(table, "cas", "b128");
}

} // namespace gmt::executor
