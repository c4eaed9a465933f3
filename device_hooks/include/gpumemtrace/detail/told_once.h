// SPDX-License-Identifier: Apache-2.0
// Who describes a place in the source or a grid, for all who come by: the entries of trace::DeviceControl's tables. In a kernel or, in
// tests, in a thread of the host. Called by device_event.h.
//
// Invariants: nobody names what an entry stands for before its description is in the ring, because the context may die with
// whoever was about to describe it. So who finds that somebody is at it waits a moment, and then describes it as well: twice
// does no harm.
#pragma once

#include <cuda/atomic>

#include "gpumemtrace/trace/device_ring.h"

namespace gmt::device {

inline constexpr std::uint64_t kTold = 1; // in an entry beside its key. Keys are even and not 0
inline constexpr unsigned kPatience = 64; // looks, half a microsecond apart: many times what a description takes

enum class Telling { kDone, kMine, kOfAnother };

// What an entry says of a key. kMine: the caller describes it, then calls set_told(). An entry that stands for another key is
// taken over if `displace`.
GMT_HOST_DEVICE inline Telling ask(std::uint64_t& word, std::uint64_t key, bool displace) {
  const cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device> entry(word);
  std::uint64_t found = entry.load(cuda::std::memory_order_relaxed);
  if ((found & ~kTold) != key && (found == 0 || displace) &&
      entry.compare_exchange_strong(found, key, cuda::std::memory_order_relaxed)) {
    return Telling::kMine;
  }
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (unsigned looks = 0; found == key; ++looks) {
    if (looks == kPatience)
      return Telling::kMine;
#if defined(__CUDA_ARCH__)
    __nanosleep(500);
#endif
    found = entry.load(cuda::std::memory_order_relaxed);
  }
  return found == (key | kTold) ? Telling::kDone : Telling::kOfAnother;
}

// What the caller wrote before is with the host before anybody sees this.
GMT_HOST_DEVICE inline void set_told(std::uint64_t& word, std::uint64_t key) {
  cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>(word).store(key | kTold, cuda::std::memory_order_release);
}

} // namespace gmt::device
