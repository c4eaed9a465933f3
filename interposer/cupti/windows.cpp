// SPDX-License-Identifier: Apache-2.0
// See windows.h. CUPTI is called by one thread at a time, with signals blocked and the thread's capture mode relaxed.
#include "interposer/cupti/windows.h"

#include <atomic>

#include "interposer/cupti/core.h"
#include "interposer/cupti/cupti.h"
#include "interposer/cupti/driver.h"
#include "interposer/cupti/lock.h"
#include "interposer/cupti/policy.h"
#include "interposer/cupti/this_thread.h"
#include "interposer/quiet.h"

namespace gmt::interposer::collector {

namespace {

constinit Cupti cupti;
constinit std::atomic<bool> cupti_in_use{false};
constinit bool cupti_has_begun = false; // under cupti_in_use
constinit std::atomic<bool> stopped{false};
constinit Governor governor;
constinit std::uint64_t wanted = 0; // see launches_wanted()

// ---- the end of it all

// CUPTI cannot, or will not: the reason stands in every context's sums, and the program goes on as if we were not
// there.
void stop(const Context& where, const Answer& answer) noexcept {
  if (stopped.exchange(true)) return;
  for (unsigned i = 0; Context* context = context_at(i); ++i) {
    if (context->open.exchange(false) && context != &where) cupti.close(context->handle);
    if (!context->has_sums.load() || context->sums.windows() == nullptr) continue;
    set_word(context->sums.windows(), kTroubleResult, answer.result);
    set_word(context->sums.windows(), kTrouble, static_cast<std::uint64_t>(answer.trouble));
  }
  core->switch_off();
}

// ---- reading

bool touches_memory(const Figures& figures) noexcept {
  for (unsigned i = kFirstMemoryMetric; i < kMetrics; ++i) {
    if (figures.values[i] != 0) return true;
  }
  return false;
}

// The function's record: its kernel's own if that was never measured before, else one more. Null if there is no room.
Place* function_of(Context& context, const Figures& figures) noexcept {
  Place* place = context.sums.measured_function(figures.cubin, figures.function);
  if (place == nullptr || place->used) return place;
  place->used = true;
  const std::uint64_t code = figures.cubin | std::uint64_t{figures.function} << 32;
  const Kernel* kernel = context.kernels.named(figures.name);
  if (kernel != nullptr && !kernel->wanted) return place; // without a record
  FunctionRow row;
  if (kernel != nullptr && kernel->row.slot != nullptr && word_of(kernel->row.slot, kCode) == 0) {
    row = kernel->row;
    set_word(row.slot, kCode, code);
  } else {
    row = context.sums.add_function(figures.name, code);
  }
  place->slot = row.slot;
  place->number = row.number;
  return place;
}

// First what instructions did to memory; then, of those that did something, how often they ran.
void add_figures(void* data, const Figures& figures, bool again) noexcept {
  Context& context = *static_cast<Context*>(data);
  if (!again && !touches_memory(figures)) return;
  const Place* function = function_of(context, figures);
  if (function == nullptr || function->slot == nullptr) return;
  trace::Slot* slot = context.sums.instruction(function->number, figures.offset, !again, cupti, context.device.load());
  const unsigned first = again ? 0 : kFirstMemoryMetric, last = again ? kFirstMemoryMetric : kMetrics;
  for (unsigned i = first; i < last; ++i) {
    if (figures.values[i] != 0) add_to_word(slot, 1 + i, figures.values[i]); // never of a metric that the chip lacks
  }
}

// ---- opening and closing, under the gate

void settle(Context& context, bool read) noexcept {
  for (Kernel& kernel : context.kernels) {
    const std::uint64_t launches = kernel.in_window.exchange(0);
    if (launches == 0) continue;
    add_to_word(kernel.row.slot, read ? kMeasured : kLost, launches);
    const std::uint64_t next = kernel.launches.load() + 1;
    if (!read && (wanted == 0 || next <= wanted)) kernel.next_due.store(next); // another window shall have it
  }
  const std::uint64_t open_time = core->now() - context.opened_at.load();
  governor.charge(open_time);
  trace::Slot* windows = context.sums.windows();
  add_to_word(windows, kOpenTime, open_time);
  add_to_word(windows, read ? kLaunchesRead : kLaunchesGivenUp, context.launches_in_window.exchange(0));
  add_to_word(windows, read ? kRead : kGivenUp, 1);
  context.given_up_in_a_row = read ? 0 : context.given_up_in_a_row + 1;
  if (read || wanted == kAllLaunches) return;
  context.rest_until.store(core->now() + rest_after(context.given_up_in_a_row - 1));
}

// The figures are added before the launches that made them: who dies in between leaves no launch that seems to have
// done nothing.
void close(Context& context, bool read) noexcept {
  const Quiet quiet;
  const Lock turn(cupti_in_use);
  if (!turn.held() || !context.open.load()) return;
  const RelaxedCapture relaxed;
  const Answer got = read ? cupti.read(context.handle, context.device.load(), add_figures, &context) : Answer{};
  const Answer closed = cupti.close(context.handle);
  context.open.store(false);
  settle(context, read && got.good());
  if (!got.good()) return stop(context, got);
  if (!closed.good()) stop(context, closed);
}

// Not while kernels run: those that were launched before would count, or keep the code from being patched. Copies do no
// harm.
bool open(Context& context) noexcept {
  const Quiet quiet;
  const Lock turn(cupti_in_use, Lock::Wait::kNo);
  const Gate gate(context, Gate::Needs::kQuiet);
  if (!turn.held() || !gate.held() || stopped.load() || context.open.load()) return false;
  int device = -1;
  if (ask_device(&device) != 0) return false;
  const RelaxedCapture relaxed;
  if (!context.streams.run_no_kernels(this_thread())) {
    context.look_again_at.store(core->now() + kGlance);
    return false;
  }
  if (!cupti_has_begun) {
    const Answer answer = cupti.begin();
    if (!answer.good()) return stop(context, answer), false;
    cupti_has_begun = true;
  }
  context.device.store(device);
  context.opened_at.store(core->now());
  const Answer answer = cupti.open(context.handle, device);
  if (!answer.good()) return stop(context, answer), false;
  context.open.store(true);
  add_to_word(context.sums.windows(), kOpened, 1);
  return true;
}

// A window that was given up meanwhile has settled the launch already.
void take_one(std::atomic<std::uint64_t>& count) noexcept {
  std::uint64_t now = count.load();
  while (now != 0 && !count.compare_exchange_weak(now, now - 1)) {}
}

// A window that has met no idle moment for long.
void consider_giving_up(Context& context) noexcept {
  const std::uint64_t age = core->now() - context.opened_at.load();
  if (!is_hopeless(context.launches_in_window.load(), age, wanted)) return;
  const Gate gate(context, Gate::Needs::kNothing);
  if (gate.held()) close(context, false);
}

} // namespace

void close_if_idle(Context& context) noexcept {
  if (!context.open.load(std::memory_order_relaxed)) return;
  {
    const Gate gate(context, Gate::Needs::kQuiet);
    if (gate.held()) {
      const RelaxedCapture relaxed;
      if (context.streams.are_idle(this_thread())) return close(context, true);
    }
  }
  consider_giving_up(context);
}

Kernel* prepare_launch(Context& context, std::uint64_t function) noexcept {
  Kernel* kernel = context.kernels.of(function, context.sums);
  add_to_word(context.sums.windows(), kLaunches, 1);
  if (kernel == nullptr) return nullptr;
  const std::uint64_t number = kernel->launches.fetch_add(1) + 1;
  add_to_word(kernel->row.slot, kSeen, 1);
  const std::uint64_t now = core->now();
  governor.begin(now);
  const char* range = core->options->coalescing_range;
  const bool due = kernel->wanted && number >= kernel->next_due.load(std::memory_order_relaxed) &&
                   (range[0] == '\0' || core->in_range(range));
  if (context.open.load() && (!due || now - context.opened_at.load() > kFullWindow)) close_if_idle(context);
  const bool rests = now < context.rest_until.load() || now < context.look_again_at.load();
  if (!due || rests || context.open.load()) return kernel;
  if (wanted == 0 && !governor.has_time(now)) {
    add_to_word(context.sums.windows(), kPutOff, 1);
  } else {
    open(context);
  }
  return kernel;
}

void count_launch(Context& context, Kernel* kernel) noexcept {
  if (!context.open.load()) return;
  context.launches_in_window.fetch_add(1);
  if (kernel == nullptr || !kernel->wanted) return;
  kernel->in_window.fetch_add(1);
  kernel->next_due.store(next_due_after(kernel->launches.load(), wanted), std::memory_order_relaxed);
}

void discount_launch(Context& context, std::uint64_t function) noexcept {
  constexpr auto kMinusOne = ~std::uint64_t{0};
  Kernel* kernel = context.kernels.of(function, context.sums);
  add_to_word(context.sums.windows(), kLaunches, kMinusOne);
  if (kernel != nullptr) {
    add_to_word(kernel->row.slot, kSeen, kMinusOne);
    kernel->launches.fetch_sub(1);
  }
  if (!context.open.load()) return;
  take_one(context.launches_in_window);
  if (kernel != nullptr) take_one(kernel->in_window);
}

void close_before_graph(Context& context) noexcept {
  close_if_idle(context);
  if (!context.open.load()) return;
  const Gate gate(context, Gate::Needs::kNothing);
  if (gate.held()) close(context, false);
}

void close_before_end(Context& context, bool surely) noexcept {
  const Gate gate(context, Gate::Needs::kNothing);
  const Current current(context.handle);
  if (!gate.held() || !context.open.load() || !current.good()) return;
  const RelaxedCapture relaxed;
  const bool idle = context.submitting.load() == 0 && context.streams.are_idle(this_thread());
  if (idle || surely) close(context, idle);
}

void drop_window(Context& context) noexcept {
  const Quiet quiet;
  context.streams.clear();
  if (context.open.exchange(false)) settle(context, false);
}

void begin_windows() noexcept {
  wanted = launches_wanted(core->options->coalescing_launches);
  choose_kernels(core->options->kernel);
}

void forget_windows() noexcept {
  cupti_in_use.store(false);
  stopped.store(false);
  governor.forget();
}

} // namespace gmt::interposer::collector
