// SPDX-License-Identifier: Apache-2.0
#include "interposer/coalescing/collector/windows/idle.h"

#include "interposer/base/bounded_lock.h"
#include "interposer/base/signal_guard.h"
#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/this_thread.h"

namespace gmt::interposer::collector {

constinit std::atomic<bool> cupti_in_use{false};
constinit Governor governor;
constinit std::uint64_t wanted = 0;

void rest(Context& context) noexcept {
  context.rest_until.store(core->now() + pause_after(context.troubles_in_a_row.fetch_add(1)));
}

bool becomes_idle(Context& context, std::uint64_t longest_wait) noexcept {
  const RelaxedCapture relaxed;
  for (const std::uint64_t began = core->now();; wait_a_little()) {
    if (context.submitting.load() == 0 && context.streams.are_idle(this_thread())) return true;
    if (core->now() - began >= longest_wait) return false;
  }
}

bool is_resting(const Context& context) noexcept { return core->now() < context.rest_until.load(); }

bool becomes_idle_at_last(Context& context, std::uint64_t most) noexcept {
  const std::uint64_t began = core->now();
  if (began < context.rest_until.load()) {
    context.look_again_at.store(began + kLookAgainAfter);
    return becomes_idle(context, 0);
  }
  const bool idle = becomes_idle(context, governor.longest_wait(most));
  const std::uint64_t waited = core->now() - began;
  governor.charge(waited);
  if (!idle) {
    governor.waited_in_vain(waited);
    rest(context);
  }
  return idle;
}

namespace {

// A launch by itself may have met a cold cache: the shortest counts. A kernel in a window costs
// what it takes longer.
void take_time(void* data, const Timings::Timed& timed) noexcept {
  Context& context = *static_cast<Context*>(data);
  Kernel* kernel = timed.kernel;
  const std::uint64_t plain = kernel != nullptr ? kernel->plain.of(timed.warps) : 0;
  if (timed.part < 0) {
    if (kernel == nullptr) return;
    if (plain == 0 || timed.nanoseconds < plain) {
      kernel->plain.set(timed.nanoseconds, timed.warps);
      set_word(kernel->row.slot, FunctionWord::plain_nanoseconds, timed.nanoseconds);
    }
    return kernel->being_timed.store(false);
  }
  context.timed_in_window.fetch_add(1);
  if (timed.nanoseconds > plain) context.slower_by.fetch_add(timed.nanoseconds - plain);
  if (kernel == nullptr) return;
  LaunchTime& longest = kernel->patched[timed.part];
  if (timed.nanoseconds > longest.of(timed.warps)) {
    longest.set(timed.nanoseconds, timed.warps);
    if (timed.nanoseconds > word_of(kernel->row.slot, FunctionWord::longest_nanoseconds)) {
      set_word(kernel->row.slot, FunctionWord::longest_nanoseconds, timed.nanoseconds);
    }
  }
  if (plain >= kShowsFactor && timed.part == static_cast<int>(Part::kGlobal))
    governor.saw_factor((timed.nanoseconds + plain - 1) / plain);
}

} // namespace

void take_times(Context& context) noexcept {
  if (!context.timings.any()) return;
  const SignalGuard signals;
  const BoundedLock lock(context.taking_times, 0);
  if (lock.held()) context.timings.take(take_time, &context);
}

} // namespace gmt::interposer::collector
