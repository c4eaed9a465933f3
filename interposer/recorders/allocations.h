// SPDX-License-Identifier: Apache-2.0
// Recorders of allocations and of releases. Same rules as recorder.h.
#pragma once

#include "interposer/driver_state/fenced_addresses.h"
#include "interposer/recorders/recorder.h"

namespace gmt::interposer {

struct AllocBase : Recorder {
  static constexpr unsigned kAllWords = trace::AllocWord::kCount;
  static void start(Record& r, MemoryKind memory_kind, unsigned words = trace::kFirstPayloadWords) {
    r.kind = Kind::kAlloc;
    r.order_at = OrderAt::kAfter;
    r.droppable = false;
    r.use(words);
    trace::AllocFields(r).memory_kind(memory_kind);
  }
  static void came_out(Record& r, std::uint64_t address) {
    trace::AllocFields(r).address(address);
    if (fenced_addresses.contain(address)) r.flags |= trace::kAllocFenced;
  }
};

// Address comes out of Out, the requested size goes in by Size.
template <MemoryKind F, int Out, int Size, int Stream = -1, int Flags = -1> struct Alloc
    : AllocBase {
  static constexpr Kind kFrequent = F == MemoryKind::kStreamOrdered ? Kind::kAlloc : Kind::kNone;
  template <class T> static void before(Record& r, const T& a) {
    start(r, F, Flags >= 0 ? kAllWords : trace::kFirstPayloadWords);
    trace::AllocFields(r).bytes(arg<Size>(a)).stream(arg<Stream>(a));
    if constexpr (Flags >= 0) trace::AllocFields(r).flags(arg<Flags>(a));
  }
  template <class T> static void after(Record& r, const T& a) { came_out(r, out<Out>(a)); }
};

// The caller chooses the address (registration, mapping).
template <MemoryKind F, int Address, int Size, int Handle = -1, int Flags = -1> struct AllocAt
    : AllocBase {
  template <class T> static void before(Record& r, const T& a) {
    start(r, F, Flags >= 0 ? kAllWords : trace::kFirstPayloadWords);
    trace::AllocFields(r).address(arg<Address>(a)).bytes(arg<Size>(a)).stream(arg<Handle>(a));
    if constexpr (Flags >= 0) trace::AllocFields(r).flags(arg<Flags>(a));
  }
};

// Address and size both come out.
template <MemoryKind F, int Out, int SizeOut> struct AllocOut : AllocBase {
  template <class T> static void before(Record& r, const T&) { start(r, F); }
  template <class T> static void after(Record& r, const T& a) {
    trace::AllocFields(r).address(out<Out>(a)).bytes(out<SizeOut>(a));
  }
};

template <int Out, int Size, int Pool, int Stream> struct AllocFromPool : AllocBase {
  template <class T> static void before(Record& r, const T& a) {
    start(r, MemoryKind::kStreamOrdered, kAllWords);
    trace::AllocFields(r).bytes(arg<Size>(a)).stream(arg<Stream>(a)).pool(arg<Pool>(a));
  }
  template <class T> static void after(Record& r, const T& a) { came_out(r, out<Out>(a)); }
};

// Recorded as pitch x height: what lies past it is out of bounds, the padding is not.
template <int Out, int PitchOut, int Width, int Height, int Element> struct AllocPitch : AllocBase {
  template <class T> static void before(Record& r, const T& a) {
    start(r, MemoryKind::kPitched, kAllWords);
    trace::AllocFields(r)
      .bytes(arg<Width>(a) * arg<Height>(a))
      .width(arg<Width>(a))
      .height(arg<Height>(a))
      .depth(1)
      .element_bytes(arg<Element>(a));
  }
  template <class T> static void after(Record& r, const T& a) {
    const std::uint64_t pitch = out<PitchOut>(a);
    came_out(r, out<Out>(a));
    trace::AllocFields(r).pitch(pitch).bytes(pitch * arg<Height>(a));
  }
};

template <int Out, int Descriptor> struct AllocExternal : AllocBase {
  template <class T> static void before(Record& r, const T& a) {
    start(r, MemoryKind::kExternal);
    const auto* descriptor = argument<Descriptor>(a);
    if (descriptor != nullptr) trace::AllocFields(r).bytes(descriptor->size);
  }
  template <class T> static void after(Record& r, const T& a) {
    trace::AllocFields(r).address(out<Out>(a));
  }
};

// ---- releases

template <FreeFunction F, int Address, int Stream = -1, int Size = -1> struct Free : Recorder {
  static constexpr Kind kFrequent = Stream >= 0 ? Kind::kFree : Kind::kNone;
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kFree;
    r.droppable = false;
    r.use(trace::FreeWord::kCount);
    trace::FreeFields(r)
      .address(arg<Address>(a))
      .function(F)
      .stream(arg<Stream>(a))
      .bytes(arg<Size>(a));
    if constexpr (Stream >= 0) r.flags |= trace::kSetAsync;
  }
};

} // namespace gmt::interposer
