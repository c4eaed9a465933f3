// SPDX-License-Identifier: Apache-2.0
// Notes for the command what the program waits for if that takes long: it must not look as
// if it hung.
#pragma once

#include <chrono>
#include <pthread.h>
#include <string>

namespace gmt::interposer::kernel_checks {

// As long as it lives, a thread of its own notes it after `first`, and then each time that twice as
// long has passed, at least once a minute.
class WaitNotice {
public:
  explicit WaitNotice(std::string what,
                      std::chrono::milliseconds first = std::chrono::seconds(5)) noexcept;
  ~WaitNotice();
  WaitNotice(const WaitNotice&) = delete;
  WaitNotice& operator=(const WaitNotice&) = delete;

private:
  static void* report(void* notice) noexcept;
  bool is_over_by(std::chrono::steady_clock::time_point time) noexcept;

  const std::string what_;
  const std::chrono::milliseconds first_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t ends_{};
  pthread_t thread_{};
  bool is_over_ = false, has_thread_ = false;
};

} // namespace gmt::interposer::kernel_checks
