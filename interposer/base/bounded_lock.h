// SPDX-License-Identifier: Apache-2.0
// A flag that one thread at a time holds. Waiting is bounded: a thread that does not get it leaves
// out what it wanted to do, and the program goes on. The holder blocks its signals
// (signal_guard.h), so that no handler waits for its own thread.
#pragma once

#include <atomic>
#include <ctime>

namespace gmt::interposer {

inline void wait_a_little() noexcept {
  const timespec pause{0, 20000};
  nanosleep(&pause, nullptr);
}

class BoundedLock {
public:
  // Waits `milliseconds` at least; with 0 it tries once.
  explicit BoundedLock(std::atomic<bool>& flag, int milliseconds) noexcept : flag_(flag) {
    constexpr int kTriesAMillisecond = 50;
    const int tries = milliseconds * kTriesAMillisecond;
    for (int i = 0; !(held_ = !flag_.exchange(true, std::memory_order_acquire)) && i < tries; ++i)
      wait_a_little();
  }
  ~BoundedLock() {
    if (held_) flag_.store(false, std::memory_order_release);
  }
  BoundedLock(const BoundedLock&) = delete;
  BoundedLock& operator=(const BoundedLock&) = delete;
  bool held() const noexcept { return held_; }

private:
  std::atomic<bool>& flag_;
  bool held_ = false;
};

} // namespace gmt::interposer
