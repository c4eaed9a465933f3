// SPDX-License-Identifier: Apache-2.0
// The one lock of the simulated driver, and the state each thread carries through it.
// entry.h takes the lock for every driver call; host_function.cpp waits on it.
// Invariant: asynchronous signals are blocked while the lock is held, so that a signal handler that
// calls cudaFree waits for no lock its own thread holds. Faults (SIGSEGV and such) stay open: a bad
// host pointer in a copy must reach the program's own handler, as with the real driver.
#pragma once

#include <csignal>
#include <pthread.h>

namespace gmt::sim {

class DriverLock {
public:
  DriverLock();
  ~DriverLock();
  DriverLock(const DriverLock&) = delete;
  DriverLock& operator=(const DriverLock&) = delete;

  // For the holder: sleeps until another thread calls notify_all, with the lock released meanwhile.
  static void wait();
  static void wait_a_moment(); // at most a millisecond
  static void notify_all();

  // True in a child made by fork of a process that had initialised CUDA: it answers
  // CUDA_ERROR_NOT_INITIALIZED there.
  static bool in_forked_child();
  static void driver_is_initialized();

private:
  sigset_t saved_;
};

} // namespace gmt::sim
