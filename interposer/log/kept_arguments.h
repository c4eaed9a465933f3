// SPDX-License-Identifier: Apache-2.0
// Which arguments of launches stand in a log's file already: later launches repeat them by a
// number, instead of writing them again, because programs launch with the same arguments in every
// turn of a loop (trace/FORMAT.md, kLaunch).
//
// Arguments are known by a hash of 64 bits, as call stacks are: the words themselves lie in memory
// that no cache holds any more. A signal handler on the same thread may write launches at any
// moment, so what was chosen counts only if it still holds when the slot is taken, and a launch is
// kept only if no other took its number.
#pragma once

#include <cstdint>

#include "interposer/base/mix.h"
#include "interposer/log/record.h"
#include "trace/format.h"

namespace gmt::interposer {

class KeptArguments {
public:
  struct Choice {
    std::uint32_t number = 0; // 0: none
    bool repeats = false;     // else the launch is to be kept by that number
    std::uint64_t hash = 0;   // of the launch's arguments
    std::uint64_t seen = 0;   // of those that the number stood for
  };

  // For a launch with arguments.
  Choice choose(const Record& launch) const noexcept {
    const std::uint64_t hash = hash_of(launch);
    const auto at = static_cast<std::uint32_t>(hash % trace::kMostKeptArguments);
    const std::uint64_t seen = __atomic_load_n(&hashes_[at], __ATOMIC_RELAXED);
    return {at + 1, seen == hash, hash, seen};
  }
  bool still_holds(const Choice& choice) const noexcept {
    return __atomic_load_n(&hashes_[choice.number - 1], __ATOMIC_RELAXED) == choice.seen;
  }
  // The launch has been committed.
  void keep(const Choice& choice) noexcept {
    std::uint64_t seen = choice.seen;
    __atomic_compare_exchange_n(&hashes_[choice.number - 1], &seen, choice.hash, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
  void clear() noexcept {
    for (std::uint64_t& hash : hashes_) hash = 0;
  }

private:
  // Of all words, and whether they are all that there are; never 0.
  static std::uint64_t hash_of(const Record& launch) noexcept {
    std::uint64_t even = launch.words, odd = launch.flags & trace::kLaunchScanned;
    unsigned i = trace::LaunchWord::kCount;
    for (; i + 1 < launch.words; i += 2) { // side by side, which takes half the time
      even = mix(even, launch.w[i]);
      odd = mix(odd, launch.w[i + 1]);
    }
    if (i < launch.words) even = mix(even, launch.w[i]);
    const std::uint64_t hash = mix(mix(even, ~std::uint64_t{0}), odd);
    return hash != 0 ? hash : 1;
  }

  std::uint64_t hashes_[trace::kMostKeptArguments] = {}; // by number, from 1; 0 none
};

} // namespace gmt::interposer
