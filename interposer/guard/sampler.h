// SPDX-License-Identifier: Apache-2.0
// Which allocations --guard-sample fences: each with the same chance, which falls as allocations
// come faster, so that the fence takes at most a given share of the run's time. Pure arithmetic:
// times are the caller's.
#pragma once

#include <atomic>
#include <cstdint>

namespace gmt::interposer {

class GuardSampler {
public:
  static constexpr std::uint64_t kPerMille = 5; // of wall time at most

  void begin(std::uint64_t now_ns) noexcept;
  // Whether this allocation is fenced.
  bool choose(std::uint64_t now_ns) noexcept;
  void spent(std::uint64_t ns) noexcept { spent_.fetch_add(ns, std::memory_order_relaxed); }
  std::uint64_t share_permille() const noexcept;

private:
  // What a fenced block is taken to cost before any was measured: allocation and free.
  static constexpr std::uint64_t kFirstCost = 120'000;

  std::atomic<std::uint64_t> begin_{0}, spent_{0}, seen_{0}, chosen_{0}, random_{0};
};

} // namespace gmt::interposer
