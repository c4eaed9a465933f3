// SPDX-License-Identifier: Apache-2.0
// A mutex, a condition and the signal mask around them.
// fork: the child gets a fresh mutex (its owner may not exist there) and the mark that ends CUDA in
// this process.
#include "simulated_cuda/driver/state/lock.h"

#include <ctime>
#include <initializer_list>
namespace gmt::sim {
namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
bool initialized = false, forked = false;

sigset_t make_blocked_set() {
  sigset_t set{};
  sigfillset(&set);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
    sigdelset(&set, fault);
  return set;
}

const sigset_t& blocked_set() {
  static const sigset_t set = [] {
    pthread_atfork(nullptr, nullptr, [] {
      mutex = PTHREAD_MUTEX_INITIALIZER;
      forked = initialized;
    });
    return make_blocked_set();
  }();
  return set;
}

} // namespace

DriverLock::DriverLock() {
  pthread_sigmask(SIG_SETMASK, &blocked_set(), &saved_);
  pthread_mutex_lock(&mutex);
}

DriverLock::~DriverLock() {
  pthread_mutex_unlock(&mutex);
  pthread_sigmask(SIG_SETMASK, &saved_, nullptr);
}

void DriverLock::wait() { pthread_cond_wait(&changed, &mutex); }
void DriverLock::wait_a_moment() {
  constexpr long kMillisecond = 1000000, kSecond = 1000000000;
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += kMillisecond;
  if (until.tv_nsec >= kSecond) {
    until.tv_nsec -= kSecond;
    ++until.tv_sec;
  }
  pthread_cond_timedwait(&changed, &mutex, &until);
}
void DriverLock::notify_all() { pthread_cond_broadcast(&changed); }
bool DriverLock::in_forked_child() { return forked; }
void DriverLock::driver_is_initialized() { initialized = true; }

} // namespace gmt::sim
