// SPDX-License-Identifier: Apache-2.0
// Which thread describes a call site or a grid: the entries of trace::DeviceControl's tables. In a
// kernel or, in tests, in a thread of the host.
//
// Invariants: no record names what an entry stands for before its description is in the ring,
// because the context may die with the thread that was about to describe it. So a thread that finds
// another one at it waits a moment, and then describes it as well: twice does no harm.
#pragma once

#include "gpumemtrace/detail/shared_word.h"

namespace gmt::device {

// In an entry beside its key. Keys are even and not 0
inline constexpr std::uint64_t kIsDescribed = 1;
// Looks, half a microsecond apart: many times what a description takes
inline constexpr unsigned kMostLooks = 64;

enum class EntryState { kDescribed, kToDescribe, kOfOtherKey };

// What an entry says of a key. kToDescribe: the caller describes it, then calls set_described(). An
// entry that stands for another key is taken over if `displace`.
GMT_HOST_DEVICE inline EntryState claim(std::uint64_t& word, std::uint64_t key, bool displace) {
  const DeviceWord entry(word);
  std::uint64_t found = entry.load_relaxed();
  if ((found & ~kIsDescribed) != key && (found == 0 || displace) &&
      entry.exchange_relaxed(found, key)) {
    return EntryState::kToDescribe;
  }
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (unsigned looks = 0; found == key; ++looks) {
    if (looks == kMostLooks) return EntryState::kToDescribe;
#if defined(__CUDA_ARCH__)
    __nanosleep(500);
#endif
    found = entry.load_relaxed();
  }
  return found == (key | kIsDescribed) ? EntryState::kDescribed : EntryState::kOfOtherKey;
}

// What the caller wrote before is with the host before another thread sees this.
GMT_HOST_DEVICE inline void set_described(std::uint64_t& word, std::uint64_t key) {
  HostWord(word).store_release(key | kIsDescribed);
}

} // namespace gmt::device
