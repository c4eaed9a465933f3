// SPDX-License-Identifier: Apache-2.0
// What the core calls (interface.h). Sorts the program's calls by what they mean for the
// window of the context that they go to.
//
// Invariants: as for all code of interposer/ (entry.h): no exception, no static constructor,
// nothing of the C++ library. A program is made to wait for its kernels only as windows.h says.
#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/driver.h"
#include "interposer/coalescing/collector/sampling/code_bound.h"
#include "interposer/coalescing/collector/sampling/images.h"
#include "interposer/coalescing/collector/sampling/sampling_policy.h"
#include "interposer/coalescing/collector/this_thread.h"
#include "interposer/coalescing/collector/windows/counting.h"
#include "interposer/coalescing/collector/windows/graphs.h"
#include "interposer/coalescing/collector/windows/launches.h"
#include "interposer/coalescing/collector/windows/window_context.h"
#include "interposer/coalescing/collector/windows/windows.h"

namespace gmt::interposer::collector {

constinit const CoreFunctions* core = nullptr;
constinit Profilers profilers{};

namespace {

using What = DriverCall::What;

// What before() hands to after(): number of the context from 1; for a wait for the whole context
// how much its streams had been given by then, for a launch its number in Context::timings.
constexpr unsigned kContextShift = 48;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kContextShift) - 1;
std::uint64_t token_of(const Context& context, std::uint64_t count = 0) noexcept {
  return std::uint64_t{context.index + 1} << kContextShift | (count & kCountMask);
}
constexpr std::uint64_t kNoContext = std::uint64_t{kMostContexts + 1} << kContextShift;

bool is_captured(std::uint64_t stream) noexcept {
  return captures.any() && !surely_captures_nothing(stream);
}

std::uint64_t before_launch(Context& context, const DriverCall& call) noexcept {
  if (is_captured(call.stream) || !make_sums(context))
    return 0; // a captured launch only makes a node
  const Launch launch = prepare_launch(context, call.object, call.warps);
  if (launch.kernel != nullptr && launch.kernel->costly) {
    enter_for_costly(context);
  } else {
    enter(context);
  }
  context.streams.add(call.stream, this_thread());
  return token_of(context, count_launch(context, launch, call.stream));
}

std::uint64_t before_graph(Context& context, const DriverCall& call) noexcept {
  if (is_captured(call.stream) || !make_sums(context))
    return 0; // captured it becomes a node of another graph
  const GraphKernels* kernels = graphs.of(context, call.object);
  prepare_graph(context, kernels);
  enter_for_graph(context);
  context.streams.add(call.stream, this_thread());
  count_graph(context);
  return token_of(context);
}

std::uint64_t before_upload(Context& context, const DriverCall& call) noexcept {
  finish_counting(context, Idle::kSoon);
  enter_for_graph(context);
  context.streams.add(call.stream, this_thread());
  if (context.has_sums.load()) count_graph(context);
  return token_of(context);
}

std::uint64_t before_work(Context& context, const DriverCall& call) noexcept {
  finish_counting(context, Idle::kSoon);
  enter(context);
  if (call.what == What::kHiddenWork) {
    context.streams.add_unknown();
  } else {
    context.streams.add(call.stream, this_thread());
  }
  return token_of(context);
}

// Whether the call names this context, by its handle or by the device whose primary one it is.
bool is_named(const DriverCall& call, const Context& context) noexcept {
  if (call.what == What::kContextEnds) return context.handle == call.object;
  return core->is_primary_context(context.handle) &&
         context.device.load() == static_cast<int>(call.object);
}

// A primary context that is released may be kept by others.
bool surely_ends(const DriverCall& call) noexcept {
  return call.what == What::kContextEnds || call.stream != 0;
}

std::uint64_t before_end(const DriverCall& call) noexcept {
  for (unsigned i = 0; Context* context = context_at(i); ++i) {
    if (is_named(call, *context)) close_before_end(*context, surely_ends(call));
  }
  return kNoContext;
}

bool has_ended(const DriverCall& call) noexcept {
  if (surely_ends(call)) return true;
  unsigned flags = 0;
  int active = 0;
  return ask_primary_state(static_cast<int>(call.object), &flags, &active) == 0 && active == 0;
}

void after_end(const DriverCall& call) noexcept {
  if (!has_ended(call)) return;
  for (unsigned i = 0; Context* context = context_at(i); ++i) {
    if (is_named(call, *context)) drop_window(*context);
  }
}

// Figures may go with the code. This is also what the end of many programs looks like.
void before_code_ends() noexcept {
  if (Context* context = known_context(core->current_context())) close_if_idle(*context);
}

// A graph had better not be made in a window, nor can a window be closed while a stream captures.
void close_before_changes() noexcept {
  Context* context = known_context(core->current_context());
  if (context == nullptr || !context->open.load()) return;
  close_if_idle(*context);
  if (context->open.load()) close_at_last(*context);
}

void end_stream(std::uint64_t stream) noexcept {
  captures.end(stream, this_thread());
  for (unsigned i = 0; Context* context = context_at(i); ++i)
    context->streams.end(stream, !captures.any());
}

std::uint64_t before(const DriverCall& call) noexcept {
  switch (call.what) {
  case What::kNothing: return 0;
  case What::kStreamEnds: end_stream(call.stream); return 0;
  case What::kCodeEnds: before_code_ends(); return 0;
  case What::kContextEnds:
  case What::kPrimaryEnds: return before_end(call);
  case What::kBeginCapture:
    close_before_changes();
    captures.begin(call.stream, this_thread());
    wait_for_gates();
    return kNoContext;
  case What::kGraphMade: close_before_changes(); return kNoContext;
  case What::kEndCapture: return kNoContext;
  case What::kGraphChanged: graphs.forget(call.object); return 0;
  case What::kSynchronized:
  case What::kContextSynchronized: {
    const Context* context = known_context(core->current_context());
    return context != nullptr ? token_of(*context, context->streams.changes()) : 0;
  }
  default: break;
  }
  const std::uint64_t handle = core->current_context();
  Context* context = handle != 0 ? meet_context(handle) : nullptr;
  if (context == nullptr) return 0;
  if (call.what == What::kLaunch) return before_launch(*context, call);
  if (call.what == What::kGraphLaunch) return before_graph(*context, call);
  if (call.what == What::kGraphUpload) return before_upload(*context, call);
  if (call.what == What::kGraphKernel) {
    graphs.change(*context, call.object, call.node, call.other);
    return 0;
  }
  return before_work(*context, call);
}

void after_waiting(Context& context, const DriverCall& call, std::uint64_t token) noexcept {
  if (call.what == What::kContextSynchronized) {
    const Gate gate(context, Gate::Needs::kNoCall);
    const bool nothing_since = (context.streams.changes() & kCountMask) == (token & kCountMask);
    if (gate.held() && nothing_since) context.streams.clear();
  }
  context.look_again_at.store(0);
  close_if_idle(context);
}

// An update that fails leaves the graph as it was.
void after_graph_was_made(const DriverCall& call, bool succeeded) noexcept {
  const std::uint64_t handle = succeeded ? core->current_context() : 0;
  Context* context = handle != 0 ? meet_context(handle) : nullptr;
  if (context != nullptr && make_sums(*context)) graphs.learn(*context, call.object, call.other);
}

void after(const DriverCall& call, std::uint64_t token, bool succeeded) noexcept {
  if (token == kNoContext) {
    if (call.what == What::kBeginCapture && !succeeded) captures.end(call.stream, this_thread());
    if (call.what == What::kEndCapture && (succeeded || surely_captures_nothing(call.stream))) {
      captures.end(call.stream, this_thread());
    }
    if (succeeded && (call.what == What::kContextEnds || call.what == What::kPrimaryEnds))
      after_end(call);
    if (call.what == What::kGraphMade) after_graph_was_made(call, succeeded);
    return;
  }
  Context* context = context_at(static_cast<unsigned>(token >> kContextShift) - 1);
  if (context == nullptr) return; // a forked child
  if (call.what == What::kSynchronized || call.what == What::kContextSynchronized) {
    if (succeeded) after_waiting(*context, call, token);
    return;
  }
  if (call.what == What::kLaunch) {
    context->timings.end(static_cast<unsigned>(token & kCountMask), call.stream, succeeded);
    if (!succeeded) discount_launch(*context, call.object);
  }
  if (call.what == What::kGraphLaunch && !succeeded)
    discount_graph(*context, graphs.of(*context, call.object));
  leave(*context);
  if (call.what == What::kWorkAndWait && succeeded) close_if_idle(*context);
}

void forget() noexcept {
  forget_contexts();
  forget_windows();
  forget_images();
  forget_code();
  graphs.forget_all();
}

constexpr CollectorFunctions kFunctions{before, after, save_image, close_at_exit, forget};

} // namespace

const CollectorFunctions* begin_collector(const CoreFunctions& functions,
                                          const Profilers& measuring) noexcept {
  core = &functions;
  profilers = measuring;
  begin_windows();
  return &kFunctions;
}

} // namespace gmt::interposer::collector
