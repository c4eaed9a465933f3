// SPDX-License-Identifier: Apache-2.0
// CUPTI is called by one thread at a time, with signals blocked and the thread's capture mode
// relaxed.
#include "interposer/coalescing/collector/windows/windows.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/signal_guard.h"
#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/driver.h"
#include "interposer/coalescing/collector/this_thread.h"
#include "interposer/coalescing/collector/windows/counting.h"
#include "interposer/coalescing/collector/windows/figures.h"
#include "interposer/coalescing/collector/windows/idle.h"

namespace gmt::interposer::collector {

namespace {

constinit bool cupti_has_begun = false; // under cupti_in_use
constinit std::atomic<bool> stopped{false};
constinit std::uint64_t most_holding_of_graphs = kMostHoldingOfGraphs; // set once

// ---- the end of it all

// The collector is notified of nothing more once no window is open that has to be closed, before a
// graph for one.
void switch_off_at_last() noexcept {
  for (unsigned i = 0; const Context* context = context_at(i); ++i) {
    if (context->open.load()) return;
  }
  core->switch_off();
}

// Closing waits for the context: what is busy is closed at its next idle moment, as any window is.
void close_unread(Context& context) noexcept {
  context.spoilt.store(true);
  const Gate gate(context, Gate::Needs::kNoCall);
  const Current current(context.handle);
  if (!gate.held() || !current.good() || !becomes_idle(context, 0)) return;
  profilers.metrics->close(context.handle, context.device.load());
  context.open.store(false);
}

// CUPTI cannot, or will not: the reason stands in every context's sums, and the program goes on as
// if we were not there.
void stop(Context& where, const Answer& answer) noexcept {
  if (stopped.exchange(true)) return;
  where.open.store(false);
  for (unsigned i = 0; Context* context = context_at(i); ++i) {
    if (context->open.load()) close_unread(*context);
    if (!context->has_sums.load() || context->sums.windows() == nullptr) continue;
    set_word(context->sums.windows(), WindowsWord::code, answer.result);
    set_word(context->sums.windows(), WindowsWord::trouble,
             static_cast<std::uint64_t>(answer.trouble));
  }
  switch_off_at_last();
}

// ---- opening and closing, under the gate

// Launches whose figures are in the sums. more_shared is how many more have figures of shared
// memory, a negative number.
void count_measured(const Kernel& kernel, std::uint64_t launches, Part part) noexcept {
  constexpr auto kMinus = ~std::uint64_t{0};
  add_to_word(kernel.row.slot, FunctionWord::measured, launches);
  if (part == Part::kGlobal)
    add_to_word(kernel.row.slot, FunctionWord::more_shared, launches * kMinus);
}

// A kernel without figures was passed over: its code was loaded after the window opened, or CUPTI
// cannot measure it. The next window shall have it.
void settle(Context& context, bool read) noexcept {
  std::uint64_t passed_over = 0, unwanted = 0;
  for (Kernel& kernel : context.kernels) {
    const std::uint64_t launches = kernel.in_window.exchange(0);
    if (launches == 0) continue;
    if (!kernel.wanted) {
      unwanted += launches;
      continue;
    }
    const bool measured = read && kernel.has_figures;
    if (measured) count_measured(kernel, launches, context.part.load());
    if (!read) add_to_word(kernel.row.slot, FunctionWord::lost, launches);
    if (read && !measured) {
      passed_over += launches;
      kernel.passed_over =
        static_cast<std::uint8_t>(kernel.passed_over + (kernel.passed_over < kMostPassedOver));
    }
    if (measured) {
      kernel.passed_over = 0;
      if (is_turn_of_instructions(kernel)) end_turn(kernel);
    }
    kernel.has_figures = false;
    const std::uint64_t next = kernel.launches.load() + 1;
    const bool again = !measured && kernel.passed_over < kMostPassedOver;
    if (again && (wanted == 0 || next <= wanted)) kernel.next_due.store(next);
  }
  const std::uint64_t open_time = core->now() - context.opened_at.load();
  std::uint64_t launches = context.launches_in_window.exchange(0);
  const bool timed = context.timed_in_window.exchange(0) >= launches;
  const std::uint64_t slower_by = context.slower_by.exchange(0);
  governor.charge(timed ? slower_by : open_time);
  context.expected.store(0);
  launches -= std::min(launches, unwanted);
  passed_over = std::min(passed_over, launches);
  trace::Slot* windows = context.sums.windows();
  add_to_word(windows, WindowsWord::open_nanoseconds, open_time);
  add_to_word(windows, read ? WindowsWord::launches_read : WindowsWord::launches_given_up,
              launches - passed_over);
  add_to_word(windows, read ? WindowsWord::read : WindowsWord::given_up, 1);
  set_word(windows, WindowsWord::measuring_nanoseconds, governor.spent());
  set_word(windows, WindowsWord::elapsed_nanoseconds, governor.elapsed(core->now()));
  context.spoilt.store(false);
  if (read) {
    context.troubles_in_a_row.store(0);
  } else if (wanted != kAllLaunches) {
    rest(context);
  }
}

// Waits for the context, so it must be idle. The figures are added before the launches that made
// them: a process that dies in between leaves no launch that seems to have done nothing.
void close(Context& context, bool read) noexcept {
  const SignalGuard signals;
  const BoundedLock lock(cupti_in_use, kLockMilliseconds);
  if (!lock.held() || !context.open.load()) return;
  const RelaxedCapture relaxed;
  Reading reading{context};
  take_times(context);
  const std::uint64_t began = core->now();
  const Answer got =
    read ? profilers.metrics->read(context.handle, context.device.load(), add_figures, &reading)
         : Answer{};
  const Answer closed = profilers.metrics->close(context.handle, context.device.load());
  governor.charge(core->now() - began);
  context.open.store(false);
  settle(context, read && got.good());
  if (stopped.load()) return switch_off_at_last();
  if (!got.good()) return stop(context, got);
  if (!closed.good()) stop(context, closed);
}

void enter_outside_windows(Context& context, std::uint64_t longest_wait) noexcept {
  close_if_idle(context);
  for (const std::uint64_t began = core->now();; wait_a_little()) { // in which others may enter
    enter(context);
    if (!context.open.load() || captures.any_of(this_thread()) ||
        core->now() - began >= longest_wait)
      return;
    leave(context);
    const Gate gate(context, Gate::Needs::kNothing);
    if (gate.held() && becomes_idle(context, kMostHolding)) close(context, !context.spoilt.load());
  }
}

void close_now_if_idle(Context& context) noexcept {
  const Gate gate(context, Gate::Needs::kNothing);
  if (gate.held() && becomes_idle(context, 0)) close(context, !context.spoilt.load());
}

} // namespace

void load(std::uint64_t function) noexcept {
  std::uint64_t of_kernel = 0;
  if (load_function(function) != 0 && function_of_kernel(&of_kernel, function) == 0)
    load_function(of_kernel);
}

// Not while the context has anything to do: CUPTI waits for all of it.
void open_window(Context& context, std::uint64_t function, Part part,
                 std::uint64_t longest_wait) noexcept {
  const SignalGuard signals;
  const BoundedLock lock(cupti_in_use, 0);
  const Gate gate(context, Gate::Needs::kNothing);
  if (!lock.held() || !gate.held() || stopped.load() || context.open.load()) return;
  int device = -1;
  if (ask_device(&device) != 0 || !profilers.metrics->can_open(device, part)) return;
  if (!becomes_idle_at_last(context, longest_wait)) return;
  take_times(context); // of launches by themselves
  const RelaxedCapture relaxed;
  const std::uint64_t began = core->now();
  if (!cupti_has_begun) {
    const Answer answer = profilers.metrics->begin();
    if (!answer.good()) return stop(context, answer);
    cupti_has_begun = true;
  }
  load(function);
  context.device.store(device);
  context.opened_at.store(core->now());
  const Answer answer =
    profilers.metrics->open(context.handle, device, part, costly_code_is_loaded());
  governor.charge(core->now() - began);
  if (!answer.good()) return stop(context, answer);
  context.timed_in_window.store(0);
  context.slower_by.store(0);
  context.expected.store(0);
  context.part.store(profilers.metrics->part(device));
  context.open.store(true);
  add_to_word(context.sums.windows(), WindowsWord::opened, 1);
  core->notify_at_exit(); // before CUPTI's own end and the driver's, which have registered theirs
}

void close_at_last(Context& context) noexcept {
  const Gate gate(context, Gate::Needs::kNothing);
  if (gate.held() && becomes_idle_at_last(context)) close(context, !context.spoilt.load());
}

void enter_for_graph(Context& context) noexcept {
  enter_outside_windows(context, most_holding_of_graphs);
}
void enter_for_costly(Context& context) noexcept {
  const std::uint64_t window = context.opened_at.load();
  enter_outside_windows(context, context.costly_in.load() == window ? 0 : kMostHoldingOfCostly);
  if (context.open.load()) context.costly_in.store(window);
}

void close_if_idle(Context& context) noexcept {
  finish_counting(context, Idle::kNow);
  if (!context.open.load(std::memory_order_relaxed)) return;
  const Gate gate(context, Gate::Needs::kNoCall);
  if (gate.held() && becomes_idle(context, 0)) close(context, !context.spoilt.load());
}

void close_behind(Context& context) noexcept {
  close_if_idle(context);
  if (!context.open.load() || captures.any_of(this_thread()))
    return; // during a capture nothing can be closed
  const std::uint64_t expected = 2 * context.expected.load() + Governor::kWindow,
                      began = core->now();
  bool done = false; // what is measured; the context may have other work
  for (std::uint64_t most = expected; core->now() - began < governor.longest_wait(most);
       wait_a_little()) {
    close_now_if_idle(context);
    if (!context.open.load()) return;
    take_times(context);
    done = context.timed_in_window.load() >= context.launches_in_window.load();
    if (done) most = std::max(expected, kMostHolding);
  }
  governor.waited_in_vain(core->now() - began);
  if (done) return;
  for (Kernel& kernel : context.kernels) {
    if (kernel.in_window.load() != 0) kernel.not_again.store(true);
  }
}

void close_before_end(Context& context, bool surely) noexcept {
  if (!context.open.load() && context.counting.profiler == nullptr) return;
  const Gate gate(context, Gate::Needs::kNothing);
  const Current current(context.handle);
  if (!gate.held() || !current.good()) return;
  const bool idle = becomes_idle(context, 0);
  if (!idle && !surely) return;
  if (context.open.load()) close(context, idle && !context.spoilt.load());
  end_counting(context, idle, surely);
}

void close_at_exit() noexcept {
  stopped.store(true);
  for (unsigned i = 0; Context* context = context_at(i); ++i) {
    close_before_end(*context, false);
    if (!context->has_sums.load()) continue;
    set_word(context->sums.windows(), WindowsWord::elapsed_nanoseconds,
             governor.elapsed(core->now()));
  }
  switch_off_at_last();
}

void drop_window(Context& context) noexcept {
  const SignalGuard signals;
  context.streams.clear();
  context.timings.drop();
  drop_counting(context);
  if (context.open.exchange(false)) settle(context, false);
}

void begin_windows() noexcept {
  wanted = launches_wanted(core->options->coalescing_launches);
  choose_kernels(core->options->kernel);
  char milliseconds[24]; // for tests
  if (core->initial_environment("GPUMEMTRACE_GRAPH_WAIT", milliseconds, sizeof milliseconds)) {
    most_holding_of_graphs = std::strtoull(milliseconds, nullptr, 10) * kMillisecond;
  }
}

void forget_windows() noexcept {
  cupti_in_use.store(false);
  stopped.store(false);
  governor.forget();
  forget_counting();
}

} // namespace gmt::interposer::collector
