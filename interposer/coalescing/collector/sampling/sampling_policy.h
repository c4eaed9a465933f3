// SPDX-License-Identifier: Apache-2.0
// Which launches are worth measuring, what that is going to cost, and whether there is time for it.
// No CUDA, no clock of its own.
//
// By default launch 1 and 2 of each kernel are due, then 4, 8, 16 and so on: a kernel that is
// launched n times is measured about log2(n) times, its first behaviour and its late one. A launch
// that could not be measured stays due.
//
// Costs are foreseen. A launch that CUPTI has patched takes many times as long as it does
// otherwise, so a kernel is first timed as it is, and then charged by the largest factor that is to
// be expected. All of it together may take two seconds of any run and 30 % of the time that was not
// spent measuring.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace gmt::interposer::collector {

inline constexpr std::uint64_t kAllLaunches = ~std::uint64_t{0};
inline constexpr std::uint64_t kMillisecond = 1'000'000;

// "auto" is 0, "all" is kAllLaunches, else the number.
constexpr std::uint64_t launches_wanted(const char* text) noexcept {
  if (text[0] == 'a' && text[1] == 'l') return kAllLaunches;
  std::uint64_t number = 0;
  for (; *text >= '0' && *text <= '9'; ++text)
    number = number * 10 + static_cast<std::uint64_t>(*text - '0');
  return number;
}

// The first launch after launch `number` (from 1) that is due; kAllLaunches if there is none.
constexpr std::uint64_t next_due_after(std::uint64_t number, std::uint64_t wanted) noexcept {
  if (wanted != 0) return number < wanted ? number + 1 : kAllLaunches;
  std::uint64_t next = 1;
  while (next <= number) next *= 2;
  return next;
}

// How long launches of a kernel take, in nanoseconds, as far as it is known. A larger grid is taken
// to last longer in proportion, a smaller one just as long.
class LaunchTime {
public:
  bool is_known() const noexcept { return nanoseconds_.load(std::memory_order_relaxed) != 0; }
  std::uint64_t of(std::uint64_t warps) const noexcept {
    const std::uint64_t known = nanoseconds_.load(std::memory_order_relaxed);
    const std::uint64_t measured =
      std::max<std::uint64_t>(warps_.load(std::memory_order_relaxed), 1);
    if (warps <= measured) return known;
    return static_cast<std::uint64_t>(static_cast<double>(known) *
                                      (static_cast<double>(warps) / static_cast<double>(measured)));
  }
  // One thread at a time.
  void set(std::uint64_t nanoseconds, std::uint64_t warps) noexcept {
    warps_.store(warps, std::memory_order_relaxed);
    nanoseconds_.store(std::max<std::uint64_t>(nanoseconds, 1), std::memory_order_relaxed);
  }

private:
  std::atomic<std::uint64_t> nanoseconds_, warps_;
};

// The time that measuring may take, of the whole process.
class Governor {
public:
  static constexpr std::uint64_t kFree = 2000 * kMillisecond;
  static constexpr std::uint64_t kPercent = 30;
  static constexpr std::uint64_t kFactor = 60; // of a kernel that was never measured
  // The same, with its instructions that use shared memory
  static constexpr std::uint64_t kSharedFactor = 250;
  static constexpr std::uint64_t kMostVain = 2000 * kMillisecond;
  // Opening a window, reading and closing it, and the launch's own delays.
  static constexpr std::uint64_t kWindow = 5 * kMillisecond;

  void begin(std::uint64_t now) noexcept {
    std::uint64_t never = 0;
    began_.compare_exchange_strong(never, now != 0 ? now : 1);
  }
  std::uint64_t elapsed(std::uint64_t now) const noexcept {
    const std::uint64_t began = began_.load(std::memory_order_relaxed);
    return began != 0 && now > began ? now - began : 0;
  }
  std::uint64_t spent() const noexcept { return spent_.load(std::memory_order_relaxed); }
  void charge(std::uint64_t nanoseconds) noexcept {
    spent_.fetch_add(nanoseconds, std::memory_order_relaxed);
  }

  // What measuring may still cost. A kernel that has figures may take no more than half of it all:
  // others come later.
  std::uint64_t allowance(std::uint64_t now, bool has_figures) const noexcept {
    const std::uint64_t gone = spent(), passed = elapsed(now);
    std::uint64_t all = kFree + (passed > gone ? passed - gone : 0) * kPercent / 100;
    if (has_figures) all /= 2;
    return all > gone ? all - gone : 0;
  }

  // How many times longer a launch takes that is measured, shared memory left out; not of kernels
  // that are too short to say anything.
  std::uint64_t factor() const noexcept {
    return std::max(kFactor, largest_.load(std::memory_order_relaxed));
  }
  void saw_factor(std::uint64_t factor) noexcept {
    std::uint64_t largest = largest_.load(std::memory_order_relaxed);
    while (factor > largest && !largest_.compare_exchange_weak(largest, factor)) {
    }
  }

  // Launches that are held back may be what the device waits for. Holding them in vain may take two
  // seconds of a run.
  std::uint64_t longest_wait(std::uint64_t most) const noexcept {
    const std::uint64_t gone = vain_.load(std::memory_order_relaxed);
    return std::min(most, gone < kMostVain ? kMostVain - gone : 0);
  }
  void waited_in_vain(std::uint64_t nanoseconds) noexcept {
    vain_.fetch_add(nanoseconds, std::memory_order_relaxed);
  }
  bool may_wait() const noexcept { return vain_.load(std::memory_order_relaxed) < kMostVain; }

  void forget() noexcept {
    began_.store(0);
    spent_.store(0);
    vain_.store(0);
    largest_.store(0);
  }

private:
  std::atomic<std::uint64_t> began_{0}, spent_{0}, vain_{0}, largest_{0};
};

// Before a window opens launches are held back until the device has done what it has, for
// kMostHolding at most. If that was in vain, because a kernel waits for what is held back, or if a
// window was lost, the context is left alone for a while.
inline constexpr std::uint64_t kMostHolding = 200 * kMillisecond;
// The same, for a kernel that has no figures yet.
inline constexpr std::uint64_t kMostHoldingForFirst = 1000 * kMillisecond;
// A graph is launched when no window is open any more: inside one its kernels would be lost
// (windows.h). Only a program whose kernel waits for what comes after that launch gets to the end
// of this.
inline constexpr std::uint64_t kMostHoldingOfGraphs = 30'000 * kMillisecond;
// A kernel that is costly to patch (kernel_table.h) waits for the same, but not as long: in the
// window it is slow, not wrong.
inline constexpr std::uint64_t kMostHoldingOfCostly = 5'000 * kMillisecond;
constexpr std::uint64_t pause_after(unsigned troubles_in_a_row) noexcept {
  constexpr unsigned kMostDoublings = 8; // 128 s
  return 500 * kMillisecond << (troubles_in_a_row < kMostDoublings ? troubles_in_a_row
                                                                   : kMostDoublings);
}

// A kernel that CUPTI passes over in so many windows is no longer due at every launch.
inline constexpr unsigned kMostPassedOver = 3;

// A context that is left alone and was found busy is looked at again after this, or when the
// program has waited: asking costs as much as a launch.
inline constexpr std::uint64_t kLookAgainAfter = kMillisecond / 5;

// A window stays open for further launches that are due, so that one reading serves many, but not
// for ever.
inline constexpr std::uint64_t kFullWindow = 20 * kMillisecond;

// Launches that last less say nothing about the factor of others: what CUPTI does once a launch
// counts most.
inline constexpr std::uint64_t kShowsFactor = kMillisecond / 2;

} // namespace gmt::interposer::collector
