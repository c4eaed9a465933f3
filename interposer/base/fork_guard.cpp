// SPDX-License-Identifier: Apache-2.0
// A fork waits for the threads inside, which need microseconds, and threads that want in wait for
// the fork. Both waits are bounded: a program that forks while it holds the loader's lock itself
// must not stand still.
#include "interposer/base/fork_guard.h"

#include "interposer/base/bounded_lock.h"

#include <atomic>
#include <ctime>
#include <pthread.h>

namespace gmt::interposer {

namespace {

constinit std::atomic<int> threads_inside{0}; // threads, each once
constinit std::atomic<int> forking{0};
constinit thread_local int own_depth __attribute__((tls_model("initial-exec"))) = 0;
constinit thread_local int cancel_state __attribute__((tls_model("initial-exec"))) = 0;

constexpr int kMostWaits = 10000; // of 20 microseconds

void before_fork() noexcept {
  forking.fetch_add(1);
  const int own = own_depth > 0 ? 1 : 0; // a signal handler may fork
  for (int i = 0; threads_inside.load() > own && i < kMostWaits; ++i) wait_a_little();
}
void after_fork_in_parent() noexcept { forking.fetch_sub(1); }
void after_fork_in_child() noexcept {
  threads_inside.store(own_depth > 0 ? 1 : 0);
  forking.store(0);
}

// At the first entry: a process that never has one pays nothing.
void watch_forks() noexcept {
  static constinit std::atomic<bool> watching{false};
  if (!watching.load(std::memory_order_relaxed) && !watching.exchange(true)) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  }
}

} // namespace

void enter_locks() noexcept {
  if (++own_depth > 1) return;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  watch_forks();
  threads_inside.fetch_add(1);
  for (int i = 0; forking.load() != 0 && i < kMostWaits; ++i) {
    threads_inside.fetch_sub(1);
    wait_a_little();
    threads_inside.fetch_add(1);
  }
}

void leave_locks() noexcept {
  if (--own_depth > 0) return;
  threads_inside.fetch_sub(1);
  int ignored = 0;
  pthread_setcancelstate(cancel_state, &ignored);
}

} // namespace gmt::interposer
