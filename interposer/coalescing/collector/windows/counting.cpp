// SPDX-License-Identifier: Apache-2.0
#include "interposer/coalescing/collector/windows/counting.h"

#include "interposer/base/bounded_lock.h"
#include "interposer/base/signal_guard.h"
#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/driver.h"
#include "interposer/coalescing/collector/profiler.h"
#include "interposer/coalescing/collector/this_thread.h"
#include "interposer/coalescing/collector/windows/idle.h"

namespace gmt::interposer::collector {

namespace {

constinit std::atomic<bool> counting_any{false}; // some context is
constinit std::atomic<bool> refused{false};

// The first trouble ends all counting; the reason stands in the sums of the context that met it.
void refuse(Context& context, const Answer& answer) noexcept {
  if (refused.exchange(true)) return;
  set_word(context.sums.windows(), WindowsWord::counters_code, answer.result);
  set_word(context.sums.windows(), WindowsWord::counters_trouble,
           static_cast<std::uint64_t>(answer.trouble));
}

void add(Context& context, Kernel& kernel, unsigned pass,
         const KernelCounters::Figures& figures) noexcept {
  if (kernel.counters == nullptr) kernel.counters = context.sums.counters(kernel.row.number);
  if (kernel.counters == nullptr) return;
  const bool first = pass == 0;
  const std::uint32_t words = figures.counted << CountersWord::read_bytes;
  const std::uint64_t of_pass = trace::pack_halves({first ? words : 0, first ? 0 : words});
  const std::uint64_t known = word_of(kernel.counters, CountersWord::words_of_passes);
  set_word(kernel.counters, CountersWord::words_of_passes, known | of_pass);
  for (unsigned i = 0; i < KernelCounters::kFigures; ++i) {
    add_to_word(kernel.counters, CountersWord::read_bytes + i, figures.sums[i]);
  }
  add_to_word(kernel.counters, first ? CountersWord::first_pass : CountersWord::second_pass, 1);
}

// Under the gate, in a context that is idle or waits for its end. Waits for it.
void take(Context& context, bool wanted_still) noexcept {
  const SignalGuard signals;
  const BoundedLock lock(cupti_in_use, kLockMilliseconds);
  Counting& counting = context.counting;
  if (!lock.held() || !counting.open.load()) return;
  const RelaxedCapture relaxed;
  const bool good = wanted_still && counting.launched.load() && !counting.spoilt.load();
  KernelCounters::Figures figures{};
  const Answer ended =
    profilers.counters->end(context.device.load(), counting.profiler, good ? &figures : nullptr);
  if (good && ended.good()) {
    add(context, *counting.kernel, counting.pass, figures);
    end_turn(*counting.kernel);
  } else if (counting.launched.load()) {
    add_to_word(context.sums.windows(), WindowsWord::counted_lost, 1);
  }
  governor.charge(core->now() - counting.began_at);
  counting.open.store(false);
  counting_any.store(false);
  if (!ended.good()) refuse(context, ended);
}

} // namespace

void end_turn(Kernel& kernel) noexcept {
  const bool counts = core->options->counters != 0 && !refused.load();
  kernel.turn.store(
    counts ? static_cast<std::uint8_t>((kernel.turn.load() + 1) % (1 + KernelCounters::kPasses))
           : 0);
}

void begin_counting(Context& context, Kernel& kernel) noexcept {
  const SignalGuard signals;
  const BoundedLock lock(cupti_in_use, 0);
  const Gate gate(context, Gate::Needs::kNothing);
  if (refused.load()) return kernel.turn.store(0);
  if (!lock.held() || !gate.held() || context.open.load() || counting_any.load()) return;
  int device = -1;
  if (ask_device(&device) != 0 || !becomes_idle_at_last(context)) return;
  const RelaxedCapture relaxed;
  Counting& counting = context.counting;
  counting.began_at = core->now();
  context.device.store(device);
  unsigned pass = kernel.turn.load() - 1u;
  const Answer answer = profilers.counters->begin(context.handle, device, pass, counting.profiler);
  if (!answer.good()) {
    kernel.turn.store(0);
    return refuse(context, answer);
  }
  counting.kernel = &kernel;
  counting.pass = pass;
  counting.launched.store(false);
  counting.spoilt.store(false);
  counting_any.store(true);
  counting.open.store(true);
}

void counted_launch_begins(Context& context, const Kernel* kernel) noexcept {
  Counting& counting = context.counting;
  if (!counting.open.load()) return;
  // A thread that had passed finish_counting() before comes in between.
  if (kernel != counting.kernel || counting.launched.exchange(true))
    return counting.spoilt.store(true);
  counting.kernel->next_due.store(next_due_after(counting.kernel->launches.load(), wanted),
                                  std::memory_order_relaxed);
  add_to_word(context.sums.windows(), WindowsWord::counted, 1);
}

void finish_counting(Context& context, Idle when) noexcept {
  if (!context.counting.open.load()) return;
  const bool soon = when == Idle::kSoon;
  {
    const Gate gate(context, soon ? Gate::Needs::kNothing : Gate::Needs::kNoCall);
    if (gate.held() && (soon ? becomes_idle_at_last(context) : becomes_idle(context, 0)))
      return take(context, true);
  }
  if (soon) context.counting.spoilt.store(true);
}

void spoil_counting(Context& context) noexcept {
  if (context.counting.open.load()) context.counting.spoilt.store(true);
}

void end_counting(Context& context, bool idle, bool surely) noexcept {
  if (context.counting.open.load()) take(context, idle);
  if (!surely || context.counting.profiler == nullptr) return;
  const SignalGuard signals;
  const BoundedLock lock(cupti_in_use, kLockMilliseconds);
  if (lock.held()) profilers.counters->forget(context.counting.profiler);
  context.counting.profiler = nullptr;
}

void drop_counting(Context& context) noexcept {
  context.counting.profiler = nullptr;
  if (!context.counting.open.exchange(false)) return;
  counting_any.store(false);
  if (context.counting.launched.load())
    add_to_word(context.sums.windows(), WindowsWord::counted_lost, 1);
}

void forget_counting() noexcept {
  counting_any.store(false);
  refused.store(false);
}

} // namespace gmt::interposer::collector
