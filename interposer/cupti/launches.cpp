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

void count_as_seen(Kernel& kernel, std::uint64_t times) noexcept {
  kernel.launches.fetch_add(times);
  add_to_word(kernel.row.slot, kSeen, times);
}

// Closes the window that has served, and opens what is due.
void serve(Context& context, Kernel& kernel, std::uint64_t function) noexcept {
  const std::uint64_t now = core->now();
  governor.begin(now);
  const char* range = core->options->coalescing_range;
  const bool due = kernel.wanted && kernel.launches.load() >= kernel.next_due.load(std::memory_order_relaxed) &&
                   (range[0] == '\0' || core->in_range(range));
  if (context.open.load()) {
    const std::uint64_t opened = context.opened_at.load();
    const bool may_be_unpatched = kernel.met_at.load() >= opened;
    const bool has_served = !due || !is_turn_of_instructions(kernel) || now - opened > kFullWindow;
    if (has_served || may_be_unpatched || context.spoilt.load()) close_if_idle(context);
    if (may_be_unpatched && wanted == kAllLaunches && context.open.load()) close_at_last(context);
  }
  if (!due || now < context.look_again_at.load() || context.open.load()) return;
  if (wanted == 0 && !governor.has_time(now)) return add_to_word(context.sums.windows(), kPutOff, 1);
  if (!is_turn_of_instructions(kernel)) begin_counting(context, kernel); // or it gives its turn back
  if (is_turn_of_instructions(kernel)) open_window(context, function);
}

constexpr auto kMinusOne = ~std::uint64_t{0};

// A window that was lost meanwhile has settled the launch already.
void take_one(std::atomic<std::uint64_t>& count) noexcept {
  std::uint64_t now = count.load();
  while (now != 0 && !count.compare_exchange_weak(now, now - 1)) {}
}

// Launches that failed.
void count_as_unseen(Context& context, Kernel* kernel, std::uint64_t times) noexcept {
  add_to_word(context.sums.windows(), kLaunches, times * kMinusOne);
  if (kernel == nullptr) return;
  add_to_word(kernel->row.slot, kSeen, times * kMinusOne);
  kernel->launches.fetch_sub(times);
}

} // namespace

Kernel* prepare_launch(Context& context, std::uint64_t function) noexcept {
  Kernel* kernel = context.kernels.of(function, context.sums);
  add_to_word(context.sums.windows(), kLaunches, 1);
  finish_counting(context, Idle::kSoon);
  if (kernel == nullptr) return nullptr;
  count_as_seen(*kernel, 1);
  serve(context, *kernel, function);
  return kernel;
}

void prepare_graph(Context& context, const GraphKernels* kernels) noexcept {
  trace::Slot* windows = context.sums.windows();
  add_to_word(windows, kGraphLaunches, 1);
  finish_counting(context, Idle::kSoon);
  if (kernels == nullptr) return add_to_word(windows, kUnknownGraphs, 1);
  for (const auto& [kernel, times] : *kernels) {
    add_to_word(windows, kLaunches, times);
    count_as_seen(*kernel, times);
  }
}

void count_launch(Context& context, Kernel* kernel) noexcept {
  counted_launch_begins(context, kernel);
  if (!context.open.load()) return;
  context.launches_in_window.fetch_add(1);
  if (kernel == nullptr) return;
  kernel->in_window.fetch_add(1);
  if (kernel->wanted) kernel->next_due.store(next_due_after(kernel->launches.load(), wanted), std::memory_order_relaxed);
}

void count_graph(Context& context) noexcept {
  counted_launch_begins(context, nullptr);
  if (!context.open.load()) return;
  context.spoilt.store(true);
  add_to_word(context.sums.windows(), kGraphsInWindows, 1);
}

void discount_launch(Context& context, std::uint64_t function) noexcept {
  Kernel* kernel = context.kernels.of(function, context.sums);
  count_as_unseen(context, kernel, 1);
  spoil_counting(context);
  if (!context.open.load()) return;
  take_one(context.launches_in_window);
  if (kernel != nullptr) take_one(kernel->in_window);
}

void discount_graph(Context& context, const GraphKernels* kernels) noexcept {
  trace::Slot* windows = context.sums.windows();
  add_to_word(windows, kGraphLaunches, kMinusOne);
  if (kernels == nullptr) return add_to_word(windows, kUnknownGraphs, kMinusOne);
  for (const auto& [kernel, times] : *kernels) count_as_unseen(context, kernel, times);
}

} // namespace gmt::interposer::collector
