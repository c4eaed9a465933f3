// SPDX-License-Identifier: Apache-2.0
// Recorders of objects that are made, used and destroyed: contexts, streams, modules and others.
// Same rules as recorder.h.
#pragma once

#include <type_traits>

#include "interposer/coalescing/collector_client.h"
#include "interposer/core_dump/core_dump.h"
#include "interposer/device_ring/drain.h"
#include "interposer/driver_state/code_generation.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/loader/look_ups.h"
#include "interposer/recorders/recorder.h"
#include "trace/object_class.h"

namespace gmt::interposer {

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
      notify_of_code(argument<Image>(a), 0);
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

} // namespace gmt::interposer
