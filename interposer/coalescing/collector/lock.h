// SPDX-License-Identifier: Apache-2.0
// Flags that one thread at a time holds. Waiting is bounded: who does not get it leaves out what it wanted to do, and
// the program goes on. Signals of the holder are blocked by the caller (signal_guard.h), so that no handler waits for its own
// thread.
#pragma once

#include <atomic>
#include <ctime>

namespace gmt::interposer::collector {

inline void wait_a_little() noexcept {
  const timespec pause{0, 20000};
  nanosleep(&pause, nullptr);
}

class Lock {
public:
  enum class Wait { kNo, kAWhile };
  explicit Lock(std::atomic<bool>& flag, Wait wait = Wait::kAWhile) noexcept : flag_(flag) {
    constexpr int kMostWaits = 5000; // 100 ms at least
    const int tries = wait == Wait::kNo ? 1 : kMostWaits;
    for (int i = 0; !(held_ = !flag_.exchange(true, std::memory_order_acquire)) && i + 1 < tries; ++i) wait_a_little();
  }
  ~Lock() {
    if (held_) flag_.store(false, std::memory_order_release);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  bool held() const noexcept { return held_; }

private:
  std::atomic<bool>& flag_;
  bool held_ = false;
};

} // namespace gmt::interposer::collector
