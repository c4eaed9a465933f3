// SPDX-License-Identifier: Apache-2.0
// Which launches are worth a window, and when there is time for one. Used by windows.cpp; no CUDA, no clock of its own.
//
// By default launch 1 and 2 of each kernel are due, then 4, 8, 16 and so on: a kernel that is launched n times is
// measured about log2(n) times, its first behaviour and its late one. A launch that could not be measured stays due.
// Windows may take two seconds of any run, and beyond that 15 % of the time since the first launch.
#pragma once

#include <atomic>
#include <cstdint>

namespace gmt::interposer::collector {

inline constexpr std::uint64_t kAllLaunches = ~std::uint64_t{0};
inline constexpr std::uint64_t kMillisecond = 1'000'000;

// "auto" is 0, "all" is kAllLaunches, else the number.
constexpr std::uint64_t launches_wanted(const char* text) noexcept {
  if (text[0] == 'a' && text[1] == 'l') return kAllLaunches;
  std::uint64_t number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + static_cast<std::uint64_t>(*text - '0');
  return number;
}

// The first launch after launch `number` (from 1) that is due; kAllLaunches if there is none.
constexpr std::uint64_t next_due_after(std::uint64_t number, std::uint64_t wanted) noexcept {
  if (wanted != 0) return number < wanted ? number + 1 : kAllLaunches;
  std::uint64_t next = 1;
  while (next <= number) next *= 2;
  return next;
}

// The time that windows may take, of the whole process.
class Governor {
public:
  static constexpr std::uint64_t kFree = 2000 * kMillisecond;
  static constexpr std::uint64_t kPercent = 15;

  void begin(std::uint64_t now) noexcept {
    std::uint64_t never = 0;
    began_.compare_exchange_strong(never, now != 0 ? now : 1);
  }
  void charge(std::uint64_t nanoseconds) noexcept { spent_.fetch_add(nanoseconds, std::memory_order_relaxed); }
  bool has_time(std::uint64_t now) const noexcept {
    const std::uint64_t spent = spent_.load(std::memory_order_relaxed);
    return spent < kFree || spent * 100 < (now - began_.load(std::memory_order_relaxed)) * kPercent;
  }
  void forget() noexcept {
    began_.store(0);
    spent_.store(0);
  }

private:
  std::atomic<std::uint64_t> began_{0}, spent_{0};
};

// Before a window opens launches are held back until the device has done what it has, for kMostHolding at most; likewise
// before one closes that has been open for long, in a program that lets the device never rest. If that was in vain,
// because a kernel waits for what is held back, or if a window was lost, the context is left alone for a while.
inline constexpr std::uint64_t kPatientLaunches = 64;
inline constexpr std::uint64_t kPatience = 200 * kMillisecond;
inline constexpr std::uint64_t kMostHolding = 200 * kMillisecond;
// A graph is launched when no window is open any more: inside one its kernels would be lost (windows.h). Only a program whose
// kernel waits for what comes after that launch gets to the end of this.
inline constexpr std::uint64_t kMostHoldingOfGraphs = 30'000 * kMillisecond;
// A kernel that is costly to patch (kernels.h) waits for the same, but not as long: in the window it is slow, not wrong.
inline constexpr std::uint64_t kMostHoldingOfCostly = 5'000 * kMillisecond;
constexpr bool is_overdue(std::uint64_t launches, std::uint64_t nanoseconds, std::uint64_t wanted) noexcept {
  return wanted != kAllLaunches && launches > kPatientLaunches && nanoseconds > kPatience;
}
constexpr std::uint64_t rest_after(unsigned troubles_in_a_row) noexcept {
  constexpr unsigned kMostDoublings = 8; // 128 s
  return 500 * kMillisecond << (troubles_in_a_row < kMostDoublings ? troubles_in_a_row : kMostDoublings);
}

// A kernel that CUPTI passes over in so many windows is no longer due at every launch.
inline constexpr unsigned kMostPassedOver = 3;

// A context that is left alone and was found busy is looked at again after this, or when the program has waited: asking
// costs as much as a launch.
inline constexpr std::uint64_t kGlance = kMillisecond / 5;

// A window stays open for further launches that are due, so that one reading serves many, but not for ever.
inline constexpr std::uint64_t kFullWindow = 20 * kMillisecond;

} // namespace gmt::interposer::collector
