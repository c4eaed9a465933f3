// SPDX-License-Identifier: Apache-2.0
// Recorders of CUDA arrays: memory behind a handle, of which the driver gives no address. Its size
// is computed from the descriptor (see descriptors.h) and is what the program asked for, not what
// the driver's tiling takes. Same rules as recorder.h.
#pragma once

#include "interposer/recorders/allocations.h"
#include "interposer/recorders/lives.h"
#include "trace/object_class.h"

namespace gmt::interposer {

template <MemoryKind F, int Out, int Descriptor, int Levels = -1> struct AllocArray : AllocBase {
  template <class T> static void before(Record& r, const T& a) {
    start(r, F, kAllWords);
    const auto* descriptor = argument<Descriptor>(a);
    if (descriptor != nullptr) describe_array(r, *descriptor, Levels >= 0 ? arg<Levels>(a) : 1);
  }
  template <class T> static void after(Record& r, const T& a) {
    trace::AllocFields(r).address(out<Out>(a));
  }
};

// A level of a mipmapped array, or a plane of an array.
template <int Out, int Array, int Level> struct ArrayView
    : LifeOut<ObjectClass::kArrayView, LifeOp::kCreate, Out, Array> {
  template <class T> static void before(Record& r, const T& a) {
    LifeOut<ObjectClass::kArrayView, LifeOp::kCreate, Out, Array>::before(r, a);
    r.use_more(trace::LifeWord::value + 1);
    trace::LifeFields(r).level(arg<Level>(a));
  }
};

template <int Out, int Descriptor> struct AllocExternalArray : AllocBase {
  template <class T> static void before(Record& r, const T& a) {
    start(r, MemoryKind::kMipmappedArray, kAllWords);
    const auto* descriptor = argument<Descriptor>(a);
    if (descriptor != nullptr) describe_array(r, descriptor->arrayDesc, descriptor->numLevels);
  }
  template <class T> static void after(Record& r, const T& a) {
    trace::AllocFields(r).address(out<Out>(a));
  }
};

} // namespace gmt::interposer
