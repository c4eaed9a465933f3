// SPDX-License-Identifier: Apache-2.0
// Which launches of a log's file have arguments that later ones may repeat by a number, instead of
// writing them again: programs launch with the same arguments in every turn of a loop
// (trace/FORMAT.md, kLaunch).
//
// A signal handler on the same thread may write launches at any moment, so what was chosen counts
// only if it still holds when the slot is taken, and a launch is kept only if no other took its
// number.
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
    std::uint32_t seen = 0;   // what the number stood for, as in slots_
    bool repeats = false;     // else the launch is to be kept by that number
  };

  // For a launch with arguments. `base` is the file's first slot.
  Choice choose(const Record& launch, const trace::Slot* base) const noexcept {
    const std::uint32_t number = 1 + number_of(launch);
    const std::uint32_t seen = slots_[number - 1];
    return {number, seen, seen != 0 && has_same(launch, base + (seen - 1))};
  }
  bool still_holds(const Choice& choice) const noexcept {
    return __atomic_load_n(&slots_[choice.number - 1], __ATOMIC_RELAXED) == choice.seen;
  }
  // The launch has been committed at this slot of the file.
  void keep(const Choice& choice, std::uint32_t slot) noexcept {
    std::uint32_t seen = choice.seen;
    __atomic_compare_exchange_n(&slots_[choice.number - 1], &seen, slot + 1, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
  void clear() noexcept {
    for (std::uint32_t& slot : slots_) slot = 0;
  }

private:
  static constexpr unsigned kArguments = trace::LaunchWord::kCount; // the first of them
  static_assert(kArguments == trace::kFirstPayloadWords, "arguments stand in the kMore slots");

  static std::uint32_t number_of(const Record& launch) noexcept {
    constexpr unsigned kLooked = 4; // enough to tell most launches of a kernel apart
    std::uint64_t hash = mix(launch.words, launch.w[trace::LaunchWord::function]);
    for (unsigned i = kArguments; i < launch.words && i < kArguments + kLooked; ++i)
      hash = mix(hash, launch.w[i]);
    hash = mix(hash, launch.w[launch.words - 1u]);
    return static_cast<std::uint32_t>(hash >> 32) % trace::kMostKeptArguments;
  }

  static bool has_same(const Record& launch, const trace::Slot* kept) noexcept {
    const trace::Head head = trace::unpack(kept->head);
    if (head.slots != trace::slots_for(launch.words) ||
        ((head.flags ^ launch.flags) & trace::kLaunchScanned) != 0)
      return false;
    const auto* more = reinterpret_cast<const trace::MoreSlot*>(kept + 1);
    for (unsigned at = kArguments; at < launch.words; ++more) {
      for (const std::uint64_t word : more->payload) {
        if (word != (at < launch.words ? launch.w[at] : 0)) return false;
        ++at;
      }
    }
    return true;
  }

  std::uint32_t slots_[trace::kMostKeptArguments] = {}; // index of the launch + 1, 0 none
};

} // namespace gmt::interposer
