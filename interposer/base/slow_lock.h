// SPDX-License-Identifier: Apache-2.0
// The lock of a session's slow paths: its start, and the leasing of logs.
#pragma once

#include <atomic>
#include <ctime>

#include <sys/syscall.h>
#include <unistd.h>

namespace gmt::interposer {

inline int process_id() noexcept { return static_cast<int>(syscall(SYS_getpid)); }

inline constinit std::atomic<int> lock_holder{0}; // the process that holds it

// Held over file operations only, never over a CUDA call; signals are blocked meanwhile. A fork may
// have caught it in the hands of a thread that does not exist in the child: what another process
// holds counts as free.
class SlowLock {
public:
  SlowLock() noexcept {
    const int self = process_id();
    for (int holder = lock_holder.load();
         holder == self || !lock_holder.compare_exchange_weak(holder, self);) {
      const timespec pause{0, 20000};
      if (holder == self) nanosleep(&pause, nullptr);
      holder = lock_holder.load();
    }
  }
  ~SlowLock() { lock_holder.store(0, std::memory_order_release); }
  SlowLock(const SlowLock&) = delete;
  SlowLock& operator=(const SlowLock&) = delete;
};

} // namespace gmt::interposer
