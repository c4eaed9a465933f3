// SPDX-License-Identifier: Apache-2.0
// See launches.h.
#include "interposer/cupti/launches.h"

#include "interposer/cupti/core.h"
#include "interposer/cupti/counting.h"
#include "interposer/cupti/graphs.h"
#include "interposer/cupti/idle.h"
#include "interposer/cupti/policy.h"
#include "interposer/cupti/windows.h"

namespace gmt::interposer::collector {

namespace {

// What the launches that are about to be made at once are due for.
struct Wish {
  bool due = false;
  bool instructions = false; // and not counters
  std::uint64_t met_at = 0;  // the latest of the kernels
};

void add_to_wish(Wish& wish, Kernel& kernel, std::uint64_t times) noexcept {
  const std::uint64_t number = kernel.launches.fetch_add(times) + times;
  add_to_word(kernel.row.slot, kSeen, times);
  wish.due = wish.due || (kernel.wanted && number >= kernel.next_due.load(std::memory_order_relaxed));
  if (const std::uint64_t met_at = kernel.met_at.load(); met_at > wish.met_at) wish.met_at = met_at;
}

// Closes the window that has served, and opens what is wished. `alone`: the kernel, if it is launched by itself.
void serve(Context& context, const Wish& wish, Kernel* alone, std::uint64_t function) noexcept {
  const std::uint64_t now = core->now();
  governor.begin(now);
  const char* range = core->options->coalescing_range;
  const bool due = wish.due && (range[0] == '\0' || core->in_range(range));
  if (context.open.load()) {
    const std::uint64_t opened = context.opened_at.load();
    const bool may_be_unpatched = wish.met_at >= opened;
    const bool has_served = !due || !wish.instructions || now - opened > kFullWindow;
    if (has_served || may_be_unpatched || context.spoilt.load()) close_if_idle(context);
    if (may_be_unpatched && wanted == kAllLaunches && context.open.load()) close_at_last(context);
  }
  if (!due || now < context.look_again_at.load() || context.open.load()) return;
  if (wanted == 0 && !governor.has_time(now)) return add_to_word(context.sums.windows(), kPutOff, 1);
  if (!wish.instructions) begin_counting(context, *alone); // or it gives its turn back
  if (wish.instructions || is_turn_of_instructions(*alone)) open_window(context, function);
}

constexpr auto kMinusOne = ~std::uint64_t{0};

// A window that was lost meanwhile has settled the launches already.
void take(std::atomic<std::uint64_t>& count, std::uint64_t times) noexcept {
  std::uint64_t now = count.load();
  while (now >= times && !count.compare_exchange_weak(now, now - times)) {}
}

void count_in_window(Kernel& kernel, std::uint64_t times) noexcept {
  if (!kernel.wanted) return;
  kernel.in_window.fetch_add(times);
  kernel.next_due.store(next_due_after(kernel.launches.load(), wanted), std::memory_order_relaxed);
}

// Launches that failed.
void discount(Context& context, Kernel* kernel, std::uint64_t times) noexcept {
  add_to_word(context.sums.windows(), kLaunches, times * kMinusOne);
  if (kernel != nullptr) {
    add_to_word(kernel->row.slot, kSeen, times * kMinusOne);
    kernel->launches.fetch_sub(times);
  }
  if (!context.open.load()) return;
  take(context.launches_in_window, times);
  if (kernel != nullptr) take(kernel->in_window, times);
}

} // namespace

Kernel* prepare_launch(Context& context, std::uint64_t function) noexcept {
  Kernel* kernel = context.kernels.of(function, context.sums);
  add_to_word(context.sums.windows(), kLaunches, 1);
  finish_counting(context, Idle::kSoon);
  if (kernel == nullptr) return nullptr;
  Wish wish;
  add_to_wish(wish, *kernel, 1);
  wish.instructions = is_turn_of_instructions(*kernel);
  serve(context, wish, kernel, function);
  return kernel;
}

void prepare_graph(Context& context, const GraphKernels* kernels) noexcept {
  trace::Slot* windows = context.sums.windows();
  add_to_word(windows, kGraphLaunches, 1);
  finish_counting(context, Idle::kSoon);
  if (kernels == nullptr) {
    add_to_word(windows, kUnknownGraphs, 1);
    close_if_idle(context);
    if (context.open.load()) context.spoilt.store(true);
    return;
  }
  Wish wish;
  for (const auto& [kernel, times] : *kernels) {
    add_to_word(windows, kLaunches, times);
    add_to_wish(wish, *kernel, times);
  }
  wish.instructions = true; // none of them can be counted by itself
  serve(context, wish, nullptr, 0);
}

void count_launch(Context& context, Kernel* kernel) noexcept {
  counted_launch_begins(context, kernel);
  if (!context.open.load()) return;
  context.launches_in_window.fetch_add(1);
  if (kernel != nullptr) count_in_window(*kernel, 1);
}

void count_graph(Context& context, const GraphKernels* kernels) noexcept {
  counted_launch_begins(context, nullptr);
  if (!context.open.load() || kernels == nullptr) return;
  for (const auto& [kernel, times] : *kernels) {
    context.launches_in_window.fetch_add(times);
    count_in_window(*kernel, times);
  }
}

void discount_launch(Context& context, std::uint64_t function) noexcept {
  spoil_counting(context);
  discount(context, context.kernels.of(function, context.sums), 1);
}

void discount_graph(Context& context, const GraphKernels* kernels) noexcept {
  trace::Slot* windows = context.sums.windows();
  add_to_word(windows, kGraphLaunches, kMinusOne);
  if (kernels == nullptr) return add_to_word(windows, kUnknownGraphs, kMinusOne);
  for (const auto& [kernel, times] : *kernels) discount(context, kernel, times);
}

} // namespace gmt::interposer::collector
