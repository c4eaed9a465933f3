// SPDX-License-Identifier: Apache-2.0
// A condition variable of the C library's. std::condition_variable::wait of GCC 12 needs a newer
// libstdc++ than that of the oldest distributions which the simulated device runs on.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <mutex>

namespace gmt::executor {

class Condition {
public:
  Condition() = default;
  ~Condition() { pthread_cond_destroy(&condition_); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void wait(std::unique_lock<std::mutex>& lock) {
    pthread_cond_wait(&condition_, lock.mutex()->native_handle());
  }
  template <class Predicate> void wait(std::unique_lock<std::mutex>& lock, Predicate is_over) {
    while (!is_over()) wait(lock);
  }
  // False if it is not so when the time is over.
  template <class Predicate>
  bool wait_for(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds time,
                Predicate is_over) {
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    const std::chrono::nanoseconds end = std::chrono::nanoseconds(until.tv_nsec) + time;
    until.tv_sec += std::chrono::duration_cast<std::chrono::seconds>(end).count();
    until.tv_nsec = (end % std::chrono::seconds(1)).count();
    while (!is_over()) {
      if (pthread_cond_clockwait(&condition_, lock.mutex()->native_handle(), CLOCK_MONOTONIC,
                                 &until) == ETIMEDOUT)
        return is_over();
    }
    return true;
  }
  void notify_all() { pthread_cond_broadcast(&condition_); }

private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

} // namespace gmt::executor
