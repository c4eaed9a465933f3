// SPDX-License-Identifier: Apache-2.0
// How arguments become words of records: recorders, from which the rows of trace/cuda_api.def
// choose by name. Here is what all have in common, and those that note a call's arguments as they
// are.
//
// A recorder is a class template over positions: before(Record&, args) fills the record from input
// arguments, before the real call; after(Record&, args) fills what only a successful call answers,
// and is absent where there is nothing. A position that does not fit the row's type does not
// compile. Input structures are read only where the call itself must read them; output parameters
// only after success.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "interposer/log/record.h"
#include "interposer/recorders/descriptors.h"

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

struct Note : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kNote;
    r.use(trace::NoteWord::kCount);
    constexpr std::size_t kWords = trace::NoteWord::kCount;
    fill(r, a, std::make_index_sequence<std::min(kWords, T::kCount)>{});
  }
  template <class T, std::size_t... I>
  static void fill(Record& r, const T& a, std::index_sequence<I...>) {
    (r.set(static_cast<unsigned>(trace::NoteWord::first + I), as_word(argument<I>(a))), ...);
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
