// SPDX-License-Identifier: Apache-2.0
// What a kind of call means, by argument position: one list of small recorders, from which the rows
// of trace/cuda_api.def choose. It is one file because it is one list. A recorder is a class
// template over positions: before(Record&, args) fills the record from input arguments, before the
// real call; after(Record&, args) fills what only a successful call answers, and is absent where
// there is nothing. A position that does not fit the row's type does not compile. Input structures
// are read only where the call itself must read them; output parameters only after success.
#pragma once

#include <cuda.h>

#include "interposer/coalescing/collector_client.h"
#include "interposer/core_dump/core_dump.h"
#include "interposer/device_ring/drain.h"
#include "interposer/driver_state/code_generation.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/driver_state/device_facts.h"
#include "interposer/driver_state/fenced_addresses.h"
#include "interposer/loader/look_ups.h"
#include "interposer/log/record.h"
#include "interposer/recorders/descriptors.h"
#include "interposer/recorders/launch_arguments.h"

namespace gmt::interposer {

using trace::FreeFunction;
using trace::Kind;
using trace::LifeOp;
using trace::MemoryKind;
using trace::ObjectClass;
using trace::Side;
using trace::SyncOp;
using trace::UseClass;

struct Recorder {
  // The only kind of record, where calls come by the million
  static constexpr Kind kFrequent = Kind::kNone;
  struct Around {}; // lives from before the real call until after it
  template <class Tuple> static void after(Record&, const Tuple&) {}
};

struct Unrecorded : Recorder {}; // the row's entry only forwards
template <bool On> struct ProfilerSwitch : Recorder {};

// ---- allocations

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
    const auto* descriptor = std::get<Descriptor>(a);
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

// ---- copies and sets

template <Side D, Side S, int Destination, int Source, int Bytes, int Stream = -1> struct Copy
    : Recorder {
  static constexpr Kind kFrequent = Stream >= 0 ? Kind::kCopy : Kind::kNone;
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kCopy;
    r.flags |= trace::copy_flags(D, S, Stream >= 0);
    r.use(trace::kFirstPayloadWords);
    trace::CopyFields copy(r);
    copy.destination(arg<Destination>(a))
      .source(arg<Source>(a))
      .bytes(arg<Bytes>(a))
      .stream(arg<Stream>(a));
  }
};

// One-dimensional copies with an array: its offset is in bytes.
template <Side D, Side S, int Destination, int DestinationOffset, int Source, int SourceOffset,
          int Bytes, int Stream = -1>
struct CopyArray : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kCopy;
    r.flags |= trace::copy_flags(D, S, Stream >= 0);
    r.use(trace::CopyWord::kCount);
    trace::CopyFields copy(r);
    copy.destination(arg<Destination>(a))
      .source(arg<Source>(a))
      .bytes(arg<Bytes>(a))
      .stream(arg<Stream>(a));
    copy.width(arg<Bytes>(a)).height(1).depth(1);
    copy.destination_x(arg<DestinationOffset>(a)).source_x(arg<SourceOffset>(a));
  }
};

// Two- and three-dimensional copies, described by a structure.
template <int Descriptor, int Stream = -1> struct CopyShape : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kCopy;
    r.use(trace::CopyWord::kCount);
    const auto* descriptor = std::get<Descriptor>(a);
    if (descriptor != nullptr) describe_copy(r, *descriptor);
    trace::CopyFields(r).stream(arg<Stream>(a));
    if constexpr (Stream >= 0) r.flags |= trace::kCopyAsync;
  }
};

template <unsigned Element, int Destination, int Value, int Count, int Stream = -1> struct Set
    : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kSet;
    r.use(trace::kFirstPayloadWords);
    trace::SetFields set(r);
    set.destination(arg<Destination>(a))
      .bytes(arg<Count>(a) * Element)
      .value(arg<Value>(a))
      .stream(arg<Stream>(a));
    if constexpr (Stream >= 0) r.flags |= trace::kSetAsync;
  }
};

template <unsigned Element, int Destination, int Pitch, int Value, int Width, int Height,
          int Stream = -1>
struct Set2D : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kSet;
    r.use(trace::SetWord::kCount);
    trace::SetFields set(r);
    set.destination(arg<Destination>(a)).bytes(arg<Width>(a) * Element * arg<Height>(a));
    set.value(arg<Value>(a)).stream(arg<Stream>(a));
    set.pitch(arg<Pitch>(a))
      .width(arg<Width>(a) * Element)
      .height(arg<Height>(a))
      .element_bytes(Element);
    if constexpr (Stream >= 0) r.flags |= trace::kSetAsync;
  }
};

// ---- launches

struct LaunchBase : Recorder {
  static constexpr Kind kFrequent = Kind::kLaunch;
  static void start(Record& r, std::uint64_t function, std::uint64_t stream, trace::Index3 grid,
                    trace::Index3 block) {
    r.kind = Kind::kLaunch;
    r.words = trace::LaunchWord::kCount; // all of them are set here
    trace::LaunchFields(r).function(function).stream(stream).grid(grid).block(block);
  }
  // Three neighbouring arguments.
  template <int First, class T> static trace::Index3 extents(const T& a) {
    return {static_cast<unsigned>(arg<First>(a)), static_cast<unsigned>(arg<First + 1>(a)),
            static_cast<unsigned>(arg<First + 2>(a))};
  }
  template <int I, class T> static void* const* list(const T& a) {
    if constexpr (I < 0) {
      return nullptr;
    } else {
      return std::get<I>(a);
    }
  }
};

// Parameters and Extra are cuLaunchKernel's kernelParams and extra.
template <int Function, int Dimensions, int Stream, int Parameters, int Extra = -1> struct Launch
    : LaunchBase {
  template <class T> static void before(Record& r, const T& a) {
    start(r, arg<Function>(a), arg<Stream>(a), extents<Dimensions>(a), extents<Dimensions + 3>(a));
    record_arguments(r, arg<Function>(a), list<Parameters>(a), list<Extra>(a));
  }
  // The dynamic shared memory comes behind the block's extents.
  template <class T> static LaunchRequest request(const T& a) {
    constexpr int d = Dimensions;
    return {arg<d + 6>(a),
            {std::get<d>(a), std::get<d + 1>(a), std::get<d + 2>(a)},
            {std::get<d + 3>(a), std::get<d + 4>(a), std::get<d + 5>(a)}};
  }
};

// ---- lives

template <ObjectClass C, LifeOp Op, int Handle, int Extra = -1> struct Life : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kLife;
    r.droppable = false;
    r.use(trace::kFirstPayloadWords);
    trace::LifeFields(r).handle(arg<Handle>(a)).object(C).op(Op).extra(arg<Extra>(a));
  }
};

// Before a context ends: what its kernels have written, while it is surely there.
struct EndingContext : UnloadingCode {
  EndingContext() noexcept {
    hold_for_core_dump();
    drain_rings();
  }
};

// The end of a module, library or context, and with it of functions whose handles may come back.
template <ObjectClass C, LifeOp Op, int Handle> struct Unload : Life<C, Op, Handle> {
  using Around = std::conditional_t<C == ObjectClass::kContext || C == ObjectClass::kPrimaryContext,
                                    EndingContext, UnloadingCode>;
};

template <ObjectClass C, LifeOp Op, int Out, int Extra = -1> struct LifeOut : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    Life<C, Op, -1, Extra>::before(r, a);
    r.order_at = OrderAt::kAfter;
    if constexpr (C == ObjectClass::kContext) prepare_core_dump();
  }
  template <class T> static void after(Record& r, const T& a) {
    trace::LifeFields(r).handle(out<Out>(a));
  }
};

// Code that the program brings along in memory.
template <ObjectClass C, int Out, int Image> struct LoadCode : LifeOut<C, LifeOp::kCreate, Out> {
  template <class T> static void after(Record& r, const T& a) {
    trace::LifeFields(r).handle(out<Out>(a));
    if (is_coalescing()) [[unlikely]]
      notify_of_code(std::get<Image>(a), 0);
  }
};
// The handle that comes out is the device's primary context: resets and releases name the device
// only.
template <int Out, int Device> struct RetainPrimary : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    Life<ObjectClass::kPrimaryContext, LifeOp::kRetain, Device>::before(r, a);
    r.use_more(trace::LifeWord::value + 1);
    trace::LifeFields(r).runtime(has_runtime_looked_up() ? 2 : 1);
    prepare_core_dump();
  }
  template <class T> static void after(Record& r, const T& a) {
    const std::uint64_t context = out<Out>(a);
    trace::LifeFields(r).context(context);
    remember_primary_context(context);
  }
};

struct Note : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kNote;
    r.use(trace::NoteWord::kCount);
    fill<0>(r, a);
  }
  template <unsigned I, class T> static void fill(Record& r, const T& a) {
    if constexpr (I < trace::NoteWord::kCount && I < std::tuple_size_v<T>) {
      r.set(trace::NoteWord::first + I, arg<static_cast<int>(I)>(a));
      fill<I + 1>(r, a);
    }
  }
};

// A note on the current context, for which it is asked after the call, whatever that answers.
struct ContextNote : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    Note::before(r, a);
    r.order_at = OrderAt::kAfter;
  }
};

// Registration of kernels and variables runs before main, in every process that links a CUDA
// library: recorded only when the trace exists anyway, because a trace begins with the first CUDA
// call.
struct Registration : Note {};

// cuGetProcAddress and its versions hand out our entry instead of the real function. See
// dlsym_hook.h; never recorded.
template <int Pointer> struct Route {
  static constexpr int kPointer = Pointer;
};

} // namespace gmt::interposer
