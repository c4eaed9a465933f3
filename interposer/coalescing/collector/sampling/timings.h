// SPDX-License-Identifier: Apache-2.0
// How long launches take: each between two events of its stream, which the driver times
// (cuEventElapsedTime, cuda.h).
//
// Invariants: begin() and end() stand around the launch, between enter() and leave() of the
// context; take() is called by one thread at a time; nothing here waits for the device. A launch
// whose stream captures, or for which there is no room, is not timed.
#pragma once

#include <atomic>
#include <cstdint>

namespace gmt::interposer::collector {

struct Kernel;

class Timings {
public:
  struct Timed {
    Kernel* kernel; // null if it is not known
    std::uint64_t warps;
    int part; // of memory that its window measured, as Part; -1 if it ran in none
    std::uint64_t nanoseconds;
  };

  // A number for end(), 0 if the launch is not timed.
  unsigned begin(Kernel* kernel, std::uint64_t warps, int part, std::uint64_t stream) noexcept;
  void end(unsigned number, std::uint64_t stream, bool launched) noexcept;

  // Calls visit(data, timed) for launches that are done, and forgets them.
  using Visit = void (*)(void* data, const Timed& timed);
  void take(Visit visit, void* data) noexcept;
  // Whether what was on the stream before a launch of this kernel is done.
  bool has_begun(const Kernel* kernel) noexcept;
  bool any() const noexcept { return pending_.load(std::memory_order_relaxed) != 0; }
  void drop() noexcept; // the context is gone, and its events with it

  static constexpr unsigned kMost = 64;

private:
  enum State : std::uint8_t { kFree, kBeginning, kLaunched };
  struct Timing {
    std::atomic<State> state;
    int part;
    Kernel* kernel;
    std::uint64_t warps, first, last; // events, kept for the next launch
  };
  Timing timings_[kMost] = {};
  std::atomic<unsigned> pending_{0};
};

} // namespace gmt::interposer::collector
