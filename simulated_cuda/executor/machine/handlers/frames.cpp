// SPDX-License-Identifier: Apache-2.0
// Memory that belongs to one lane: local memory, and the parameters that functions pass. A lane's
// bytes lie together, so that its addresses are offsets.
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/handlers/global.h"
#include "simulated_cuda/executor/machine/report_sink.h"

#include <algorithm>

namespace gmt::executor {
namespace {

template <class T>
Next load_frame(Warp& w, Next in) {
  const u32 stride = w.frame->code->parameter_bytes;
  const std::byte* from = w.frame->parameters + in->immediate;
  T* d = at<T>(w, in->r[0]);
  for_lanes(w.mask, [&](u32 l) { std::memcpy(d + l, from + std::size_t{l} * stride, sizeof(T)); });
  return in + 1;
}
template <class T>
Next store_frame(Warp& w, Next in) {
  const u32 stride = w.frame->code->parameter_bytes;
  std::byte* to = w.frame->parameters + in->immediate;
  const T* v = at<const T>(w, in->r[0]);
  for_lanes(w.mask, [&](u32 l) { std::memcpy(to + std::size_t{l} * stride, v + l, sizeof(T)); });
  return in + 1;
}

// A parameter by an address that is computed: an offset in the frame's area.
template <bool kStore, class T, u32 kCount>
Next frame_at(Warp& w, Next in) {
  const u32 stride = w.frame->code->parameter_bytes;
  const u64* a = at<const u64>(w, in->r[4]);
  const Registers<T, kCount> regs(w, in);
  for_lanes(w.mask, [&](u32 l) {
    const u64 offset = a[l] + static_cast<u64>(in->immediate);
    const bool inside = offset < stride && sizeof(T) * kCount <= stride - offset;
    std::byte nothing[sizeof(T) * kCount] = {};
    if (!inside) translate(w, in, l, Space::kParameter, offset, sizeof nothing, Access::kLoad);
    std::byte* host = inside ? w.frame->parameters + std::size_t{l} * stride + offset : nothing;
    move_lane<kStore>(host, regs, l);
  });
  return in + 1;
}

template <bool kStore, class T, u32 kCount>
Next local(Warp& w, Next in) {
  constexpr u32 kEach = sizeof(T) * kCount;
  const u64* a = at<const u64>(w, in->r[4]);
  const u64 end = w.frame->local_end;
  const u64 add = static_cast<u64>(in->immediate);
  u64 wrong = 0;
  for_lanes(w.mask, [&](u32 l) {
    const u64 offset = a[l] + add;
    wrong |= (offset >= end || kEach > end - offset ? 1u : 0u) | (offset & (kEach - 1));
  });
  if (wrong != 0) return access_by_lane<kStore, T, kCount>(w, in, Space::kLocal, a);
  const Registers<T, kCount> regs(w, in);
  std::byte* base = w.local.data();
  const std::size_t stride = w.local_stride;
  for_lanes(w.mask, [&](u32 l) { move_lane<kStore>(base + l * stride + a[l] + add, regs, l); });
  return in + 1;
}

// The kernel's parameters by an address that is computed.
template <bool kStore, class T, u32 kCount>
Next parameter(Warp& w, Next in) {
  const u64* a = at<const u64>(w, in->r[4]);
  return access_by_lane<kStore, T, kCount>(w, in, Space::kParameter, a);
}

template <class T>
Next local_address(Warp& w, Next in) {
  const u64 value = w.frame->local_base + static_cast<u64>(in->immediate);
  alignas(64) T t[kLanes];
  GMT_LANES t[l] = static_cast<T>(value);
  blend(at<T>(w, in->r[0]), t, w.mask);
  return in + 1;
}

// alloca: memory behind the function's arrays, of each lane its own. How far a lane's stack reaches
// is kept in the frame behind the carry, whose place `extra` is.
u32* stack_ends(Warp& w, Next in) {
  constexpr u32 kBehindCarry = 128;
  return at<u32>(w, in->extra + kBehindCarry);
}
void note_longest_stack(Warp& w, Next in) {
  const Frame& frame = *w.frame;
  const u32* ends = stack_ends(w, in);
  u32 longest = frame.local_base + frame.code->local_bytes;
  for_lanes(w.alive, [&](u32 l) { longest = std::max(longest, ends[l]); });
  w.frame->local_end = longest;
}

Next begin_stack(Warp& w, Next in) {
  const u32 end = w.frame->local_base + w.frame->code->local_bytes;
  std::fill_n(stack_ends(w, in), kLanes, end);
  w.frame->local_end = end;
  return in + 1;
}

template <class T>
Next allocate_on_stack(Warp& w, Next in) {
  constexpr u64 kMost = 512 * 1024;
  const T* bytes = at<const T>(w, in->r[1]);
  const u64 alignment = std::max<u64>(static_cast<u64>(in->immediate), 16);
  T* d = at<T>(w, in->r[0]);
  u32* ends = stack_ends(w, in);
  bool is_full = false;
  for_lanes(w.mask, [&](u32 l) {
    const u64 from = (ends[l] + alignment - 1) / alignment * alignment;
    const u64 size = std::min<u64>(bytes[l], kMost);
    is_full |= from + size > kMost;
    d[l] = static_cast<T>(from);
    ends[l] = static_cast<u32>(from + size);
  });
  if (is_full) return stack_overflow(w, in);
  note_longest_stack(w, in);
  w.reserve_local(w.frame->local_end);
  return in + 1;
}

template <class T>
Next save_stack(Warp& w, Next in) {
  const u32* ends = stack_ends(w, in);
  T* d = at<T>(w, in->r[0]);
  for_lanes(w.mask, [&](u32 l) { d[l] = ends[l]; });
  return in + 1;
}
template <class T>
Next restore_stack(Warp& w, Next in) {
  const T* saved = at<const T>(w, in->r[0]);
  u32* ends = stack_ends(w, in);
  for_lanes(w.mask, [&](u32 l) { ends[l] = std::min(ends[l], static_cast<u32>(saved[l])); });
  note_longest_stack(w, in);
  return in + 1;
}

template <bool kStore>
void add_lanes_own(FormTable& table, const std::string& verb) {
  add_vectors(table, verb + ".local", "",
              []<class T, u32 kCount>() -> Handler { return local<kStore, T, kCount>; });
  add_vectors(table, verb + ".frame.at", "",
              []<class T, u32 kCount>() -> Handler { return frame_at<kStore, T, kCount>; });
  add_vectors(table, verb + ".param", "",
              []<class T, u32 kCount>() -> Handler { return parameter<kStore, T, kCount>; });
}

} // namespace

void GMT_GROUP(frames)(FormTable& table) {
  table.add("ld.frame.b8", load_frame<u8>);
  table.add("ld.frame.b16", load_frame<u16>);
  table.add("ld.frame.b32", load_frame<u32>);
  table.add("ld.frame.b64", load_frame<u64>);
  table.add("ld.frame.b128", load_frame<b128>);
  table.add("st.frame.b8", store_frame<u8>);
  table.add("st.frame.b16", store_frame<u16>);
  table.add("st.frame.b32", store_frame<u32>);
  table.add("st.frame.b64", store_frame<u64>);
  table.add("st.frame.b128", store_frame<b128>);
  table.add("stack.begin", begin_stack);
  table.add("alloca.u32", allocate_on_stack<u32>);
  table.add("alloca.u64", allocate_on_stack<u64>);
  table.add("stacksave.u32", save_stack<u32>);
  table.add("stacksave.u64", save_stack<u64>);
  table.add("stackrestore.u32", restore_stack<u32>);
  table.add("stackrestore.u64", restore_stack<u64>);
  table.add("local.address.b32", local_address<u32>);
  table.add("local.address.b64", local_address<u64>);
  add_lanes_own<false>(table, "ld");
  add_lanes_own<true>(table, "st");
}

} // namespace gmt::executor
