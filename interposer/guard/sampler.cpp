// SPDX-License-Identifier: Apache-2.0
#include "interposer/guard/sampler.h"

#include <algorithm>

namespace gmt::interposer {

namespace {

// Equal in every run, so that a run can be repeated: which blocks come out still depends on time.
std::uint64_t next_random(std::atomic<std::uint64_t>& state) noexcept {
  std::uint64_t x = state.fetch_add(0x9e3779b97f4a7c15u, std::memory_order_relaxed);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

} // namespace

void GuardSampler::begin(std::uint64_t now_ns) noexcept {
  begin_.store(now_ns);
  spent_.store(0);
  seen_.store(0);
  chosen_.store(0);
  random_.store(now_ns);
}

bool GuardSampler::choose(std::uint64_t now_ns) noexcept {
  const std::uint64_t seen = seen_.fetch_add(1) + 1;
  const std::uint64_t chosen = chosen_.load();
  const std::uint64_t elapsed = std::max<std::uint64_t>(now_ns - begin_.load(), 1);
  const std::uint64_t allowed = elapsed / 1000 * kPerMille;
  const std::uint64_t spent = spent_.load();
  const std::uint64_t cost = chosen != 0 ? std::max<std::uint64_t>(spent / chosen, 1) : kFirstCost;
  if (chosen != 0 && spent + cost > allowed) return false;
  // As many as the time allows, spread evenly over all that come at this rate.
  const std::uint64_t affordable = std::max<std::uint64_t>(allowed / cost, 1);
  if (chosen != 0 && next_random(random_) % seen >= affordable) return false;
  chosen_.fetch_add(1);
  return true;
}

std::uint64_t GuardSampler::share_permille() const noexcept {
  const std::uint64_t seen = seen_.load();
  return seen != 0 ? (chosen_.load() * 1000 + seen - 1) / seen : 0;
}

} // namespace gmt::interposer
