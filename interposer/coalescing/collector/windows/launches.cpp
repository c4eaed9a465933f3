// SPDX-License-Identifier: Apache-2.0
#include "interposer/coalescing/collector/windows/launches.h"

#include <algorithm>

#include "interposer/base/bounded_lock.h"
#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/sampling/sampling_policy.h"
#include "interposer/coalescing/collector/windows/counting.h"
#include "interposer/coalescing/collector/windows/graphs.h"
#include "interposer/coalescing/collector/windows/idle.h"
#include "interposer/coalescing/collector/windows/windows.h"

namespace gmt::interposer::collector {

namespace {

void count_as_seen(Kernel& kernel, std::uint64_t times) noexcept {
  kernel.launches.fetch_add(times);
  add_to_word(kernel.row.slot, FunctionWord::launches, times);
}

constexpr std::uint64_t kNotKnown = ~std::uint64_t{0};

bool has_figures(const Kernel& kernel) noexcept {
  return kernel.row.slot != nullptr && word_of(kernel.row.slot, FunctionWord::measured) != 0;
}

// Nanoseconds that a launch of so many warps takes in a window, as far as that is known.
std::uint64_t cost_of(const Kernel& kernel, std::uint64_t warps, Part part) noexcept {
  const LaunchTime& longest = kernel.patched[static_cast<unsigned>(part)];
  if (longest.is_known()) return longest.of(warps) + longest.of(warps) / 4;
  const std::uint64_t at_most = kernel.code.is_bounded() ? kernel.code.cost(warps) : kNotKnown;
  if (!kernel.plain.is_known()) return at_most;
  const std::uint64_t factor =
    part == Part::kAll ? std::max(Governor::kSharedFactor, governor.factor()) : governor.factor();
  return std::min(at_most, kernel.plain.of(warps) * factor);
}

bool is_due(const Kernel& kernel) noexcept {
  const char* range = core->options->coalescing_range;
  return kernel.wanted &&
         kernel.launches.load() >= kernel.next_due.load(std::memory_order_relaxed) &&
         (range[0] == '\0' || core->in_range(range));
}

// Whether there is time for what costs so much beside what is being measured. Shared memory and
// kernels that have figures may take half of the time, so that others find some.
bool is_affordable(const Context& context, const Kernel& kernel, std::uint64_t cost,
                   Part part) noexcept {
  if (cost == kNotKnown) return false;
  const std::uint64_t under_way = context.open.load() ? context.expected.load() : 0;
  return cost + under_way + Governor::kWindow <=
         governor.allowance(core->now(), part == Part::kAll || has_figures(kernel));
}

// Sets what the launch costs and what of it there is time to measure. False if there is none.
bool choose_part(const Context& context, Launch& launch) noexcept {
  const Kernel& kernel = *launch.kernel;
  for (const Part part : {Part::kAll, Part::kGlobal}) {
    launch.part = part;
    launch.expected = cost_of(kernel, launch.warps, part);
    if (wanted != 0 || is_affordable(context, kernel, launch.expected, part)) return true;
  }
  return false;
}

// The kernel's first launch is under way by itself: what it takes decides about this one. Once it
// has begun, it is waited for as long as it may take if this one is to be measured.
void wait_for_time(Context& context, const Kernel& kernel, std::uint64_t now) noexcept {
  if (!kernel.being_timed.load() || is_resting(context) || captures.any()) return;
  const std::uint64_t longest =
    std::min(kMostHolding, governor.allowance(now, false) / governor.factor());
  std::uint64_t longest_wait = governor.longest_wait(kMostHoldingForFirst);
  for (bool begun = false; kernel.being_timed.load() && core->now() - now < longest_wait;
       wait_a_little()) {
    if (!begun && context.timings.has_begun(&kernel)) {
      begun = true; // behind all that its stream had before
      longest_wait = std::min(longest_wait, core->now() - now + longest);
    }
    take_times(context);
  }
  const std::uint64_t waited = core->now() - now;
  governor.charge(waited);
  if (!kernel.being_timed.load()) return;
  governor.waited_in_vain(waited);
  rest(context);
}

void put_off(Context& context, Kernel& kernel) noexcept {
  add_to_word(context.sums.windows(), WindowsWord::put_off, 1);
  add_to_word(kernel.row.slot, FunctionWord::too_costly, 1);
}

// By default a launch is measured only where its cost is known and there is time for it. Answers
// whether it is; what is missing is found out by timing this launch.
bool may_measure(Context& context, Launch& launch, std::uint64_t function) noexcept {
  Kernel& kernel = *launch.kernel;
  if (kernel.not_again.load() || !governor.may_wait()) {
    put_off(context, kernel);
    return false;
  }
  if (choose_part(context, launch)) return true;
  if (launch.expected == kNotKnown) {
    wait_for_time(context, kernel, core->now());
    if (choose_part(context, launch)) return true;
  }
  const std::uint64_t number = kernel.launches.load();
  const bool again = (number & (number - 1)) == 0; // what was slow once may be quick later
  if (launch.expected != kNotKnown || kernel.being_timed.load()) put_off(context, kernel);
  if (!kernel.being_timed.load() && (launch.expected == kNotKnown || again)) {
    load(function);
    launch.timed = true;
  }
  return false;
}

// Whether the launch may go into the window that is open.
bool fits_window(const Context& context, Launch& launch, bool due, std::uint64_t now) noexcept {
  const std::uint64_t opened = context.opened_at.load();
  const Kernel& kernel = *launch.kernel;
  if (!due || !is_turn_of_instructions(kernel) || kernel.met_at.load() >= opened ||
      context.spoilt.load())
    return false;
  if (now - opened > kFullWindow) return false;
  if (wanted != 0) return true;
  launch.part = context.part.load();
  launch.expected = cost_of(kernel, launch.warps, launch.part);
  return !kernel.not_again.load() && is_affordable(context, kernel, launch.expected, launch.part);
}

// Where the user says how many launches are measured time is no limit, but what would hang is not
// tried again.
bool choose_explicitly(Context& context, Launch& launch) noexcept {
  choose_part(context, launch);
  if (wanted == kAllLaunches || !launch.kernel->not_again.load()) return true;
  put_off(context, *launch.kernel);
  return false;
}

// Where all launches are measured a window is closed at idle moments alone, or for code that it may
// not have patched.
void close_where_all_are_due(Context& context, const Kernel& kernel) noexcept {
  close_if_idle(context);
  if (context.open.load() && kernel.met_at.load() >= context.opened_at.load())
    close_at_last(context);
}

// Closes the window that has served, and opens what is due.
void serve(Context& context, Launch& launch, std::uint64_t function) noexcept {
  Kernel& kernel = *launch.kernel;
  const std::uint64_t now = core->now();
  governor.begin(now);
  take_times(context);
  const bool due = is_due(kernel);
  if (context.open.load() && !fits_window(context, launch, due, now)) {
    wanted == kAllLaunches ? close_where_all_are_due(context, kernel) : close_behind(context);
  }
  if (!due || now < context.look_again_at.load() || context.open.load()) return;
  if (!is_turn_of_instructions(kernel)) {
    constexpr std::uint64_t kCounting = 60 * kMillisecond; // what counting one launch takes
    if (wanted == 0 && !is_affordable(context, kernel, kCounting, Part::kAll))
      return put_off(context, kernel);
    begin_counting(context, kernel); // or it gives its turn back
  }
  if (!is_turn_of_instructions(kernel)) return;
  if (wanted == 0 && !may_measure(context, launch, function)) return;
  if (wanted != 0 && !choose_explicitly(context, launch)) return;
  open_window(context, function, launch.part,
              has_figures(kernel) ? kMostHolding : kMostHoldingForFirst);
}

constexpr auto kMinusOne = ~std::uint64_t{0};

// A window that was lost meanwhile has settled the launch already.
void take_one(std::atomic<std::uint64_t>& count) noexcept {
  std::uint64_t now = count.load();
  while (now != 0 && !count.compare_exchange_weak(now, now - 1)) {
  }
}

// Launches that failed.
void count_as_unseen(Context& context, Kernel* kernel, std::uint64_t times) noexcept {
  add_to_word(context.sums.windows(), WindowsWord::launches, times * kMinusOne);
  if (kernel == nullptr) return;
  add_to_word(kernel->row.slot, FunctionWord::launches, times * kMinusOne);
  kernel->launches.fetch_sub(times);
}

} // namespace

Launch prepare_launch(Context& context, std::uint64_t function, std::uint64_t warps) noexcept {
  Launch launch{context.kernels.of(function, context.sums), warps};
  add_to_word(context.sums.windows(), WindowsWord::launches, 1);
  finish_counting(context, Idle::kSoon);
  if (launch.kernel == nullptr) return launch;
  count_as_seen(*launch.kernel, 1);
  serve(context, launch, function);
  return launch;
}

void prepare_graph(Context& context, const GraphKernels* kernels) noexcept {
  trace::Slot* windows = context.sums.windows();
  add_to_word(windows, WindowsWord::graph_launches, 1);
  finish_counting(context, Idle::kSoon);
  if (kernels == nullptr) return add_to_word(windows, WindowsWord::unknown_graphs, 1);
  for (const auto& [kernel, times] : *kernels) {
    add_to_word(windows, WindowsWord::launches, times);
    count_as_seen(*kernel, times);
  }
}

unsigned count_launch(Context& context, const Launch& launch, std::uint64_t stream) noexcept {
  Kernel* kernel = launch.kernel;
  counted_launch_begins(context, kernel);
  const bool open = context.open.load();
  unsigned timing = 0;
  // Events may disturb a capture
  if (((open && wanted != kAllLaunches) || launch.timed) && !captures.any()) {
    timing = context.timings.begin(kernel, launch.warps,
                                   open ? static_cast<int>(context.part.load()) : -1, stream);
    if (timing != 0 && !open) kernel->being_timed.store(true);
  }
  if (!open) return timing;
  context.launches_in_window.fetch_add(1);
  context.expected.fetch_add(std::min(launch.expected, Governor::kMostVain));
  if (kernel == nullptr) return timing;
  kernel->in_window.fetch_add(1);
  if (kernel->wanted)
    kernel->next_due.store(next_due_after(kernel->launches.load(), wanted),
                           std::memory_order_relaxed);
  return timing;
}

void count_graph(Context& context) noexcept {
  counted_launch_begins(context, nullptr);
  if (!context.open.load()) return;
  context.spoilt.store(true);
  add_to_word(context.sums.windows(), WindowsWord::graphs_in_windows, 1);
}

void discount_launch(Context& context, std::uint64_t function) noexcept {
  Kernel* kernel = context.kernels.of(function, context.sums);
  count_as_unseen(context, kernel, 1);
  if (kernel != nullptr) kernel->being_timed.store(false);
  spoil_counting(context);
  if (!context.open.load()) return;
  take_one(context.launches_in_window);
  if (kernel != nullptr) take_one(kernel->in_window);
}

void discount_graph(Context& context, const GraphKernels* kernels) noexcept {
  trace::Slot* windows = context.sums.windows();
  add_to_word(windows, WindowsWord::graph_launches, kMinusOne);
  if (kernels == nullptr) return add_to_word(windows, WindowsWord::unknown_graphs, kMinusOne);
  for (const auto& [kernel, times] : *kernels) count_as_unseen(context, kernel, times);
}

} // namespace gmt::interposer::collector
