// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/wait_notice.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <utility>

#include "interposer/kernel_checks/library/driver.h"

namespace gmt::interposer::kernel_checks {

WaitNotice::WaitNotice(std::string what, std::chrono::milliseconds first) noexcept
    : what_(std::move(what)), first_(first) {
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC); // which is what steady_clock reads
  pthread_cond_init(&ends_, &clock);
  pthread_condattr_destroy(&clock);
  // Signals of the program must not cut in.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  has_thread_ = pthread_create(&thread_, nullptr, report, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WaitNotice::~WaitNotice() {
  if (has_thread_) {
    pthread_mutex_lock(&mutex_);
    is_over_ = true;
    pthread_cond_signal(&ends_);
    pthread_mutex_unlock(&mutex_);
    pthread_join(thread_, nullptr);
  }
  pthread_cond_destroy(&ends_);
}

bool WaitNotice::is_over_by(std::chrono::steady_clock::time_point time) noexcept {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
  const std::chrono::nanoseconds rest = time.time_since_epoch() - seconds;
  const timespec until{seconds.count(), rest.count()};
  pthread_mutex_lock(&mutex_);
  int result = 0;
  while (!is_over_ && result != ETIMEDOUT) result = pthread_cond_timedwait(&ends_, &mutex_, &until);
  const bool is_over = is_over_;
  pthread_mutex_unlock(&mutex_);
  return is_over;
}

void* WaitNotice::report(void* notice) noexcept {
  constexpr std::chrono::milliseconds kMostBetween{60'000};
  auto& self = *static_cast<WaitNotice*>(notice);
  for (std::chrono::milliseconds at = self.first_; !self.is_over_by(self.began_ + at);
       at += std::min(at, kMostBetween)) {
    char text[200];
    std::snprintf(text, sizeof text, "%.150s (%lld s so far)", self.what_.c_str(),
                  static_cast<long long>(std::chrono::floor<std::chrono::seconds>(at).count()));
    core->notify_command("waits", text);
  }
  return nullptr;
}

} // namespace gmt::interposer::kernel_checks
