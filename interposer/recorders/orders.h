// SPDX-License-Identifier: Apache-2.0
// Recorders of calls that order work: events, waits, captures, and launches that record events.
// Same rules as recorder.h.
#pragma once

#include "interposer/device_ring/drain.h"
#include "interposer/driver_state/device_facts.h"
#include "interposer/recorders/copies_and_launches.h"

namespace gmt::interposer {

inline void set_sync(Record& r, SyncOp op, std::uint64_t stream, std::uint64_t other,
                     std::uint64_t flags = 0) {
  r.kind = Kind::kSync;
  r.use(trace::SyncWord::kCount);
  trace::SyncFields(r).stream(stream).other(other).op(op).flags(flags);
}

template <SyncOp Op, int Stream, int Event, int Flags = -1> struct Sync : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    if constexpr (Op == SyncOp::kGraphLaunch) expect_records();
    set_sync(r, Op, arg<Stream>(a), arg<Event>(a), arg<Flags>(a));
  }
};

// The graph that comes out of a capture.
template <int Stream, int Out> struct EndCapture : Sync<SyncOp::kEndCapture, Stream, -1> {
  template <class T> static void after(Record& r, const T& a) {
    trace::SyncFields(r).graph(out<Out>(a));
  }
};

template <int First, int Second> struct ElapsedTime : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    set_sync(r, SyncOp::kElapsedTime, 0, arg<Second>(a));
    trace::SyncFields(r).first_event(arg<First>(a));
  }
};

// The event that a launch records by an attribute; null if the attribute is another.
inline CUevent event_of(const CUlaunchAttribute& attribute) {
  switch (attribute.id) {
  case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT: return attribute.value.programmaticEvent.event;
  case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    return attribute.value.launchCompletionEvent.event;
  default: return nullptr;
  }
}

// A launch, and a record for each event that its attributes name. Such an event may come before the
// kernel's end, but work that waits for it can wait for that end too (griddepcontrol.wait), which
// no call shows.
template <int Config, int Function, int Parameters, int Extra> struct LaunchEx : LaunchBase {
  template <class T> static std::size_t members(const T& a) {
    std::size_t count = 1;
    const CUlaunchConfig* c = argument<Config>(a);
    if (c == nullptr || c->attrs == nullptr) return count;
    for (unsigned i = 0; i < c->numAttrs; ++i) count += event_of(c->attrs[i]) != nullptr ? 1 : 0;
    return count;
  }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    const CUlaunchConfig* c = argument<Config>(a);
    if (i != 0)
      return set_sync(r, SyncOp::kEventRecord, as_word(c->hStream), as_word(event(*c, i)));
    trace::Index3 grid{}, block{};
    if (c != nullptr) {
      grid = {c->gridDimX, c->gridDimY, c->gridDimZ};
      block = {c->blockDimX, c->blockDimY, c->blockDimZ};
    }
    start(r, arg<Function>(a), c == nullptr ? 0 : as_word(c->hStream), grid, block);
    record_arguments(r, arg<Function>(a), list<Parameters>(a), list<Extra>(a));
  }
  template <class T> static LaunchRequest request(const T& a) {
    const CUlaunchConfig* c = argument<Config>(a);
    if (c == nullptr) return {};
    return {c->sharedMemBytes,
            {c->gridDimX, c->gridDimY, c->gridDimZ},
            {c->blockDimX, c->blockDimY, c->blockDimZ}};
  }

private:
  static CUevent event(const CUlaunchConfig& c, std::size_t nth) { // from 1
    for (unsigned i = 0; i < c.numAttrs; ++i) {
      const CUevent found = event_of(c.attrs[i]);
      if (found != nullptr && --nth == 0) return found;
    }
    return nullptr;
  }
};

} // namespace gmt::interposer
