// SPDX-License-Identifier: Apache-2.0
// Recorders of copies, sets and launches. Same rules as recorder.h.
#pragma once

#include "interposer/driver_state/device_facts.h"
#include "interposer/recorders/launch_arguments.h"
#include "interposer/recorders/recorder.h"

namespace gmt::interposer {

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
    const auto* descriptor = argument<Descriptor>(a);
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
      return argument<I>(a);
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
            {argument<d>(a), argument<d + 1>(a), argument<d + 2>(a)},
            {argument<d + 3>(a), argument<d + 4>(a), argument<d + 5>(a)}};
  }
};

} // namespace gmt::interposer
