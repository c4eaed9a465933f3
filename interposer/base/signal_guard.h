// SPDX-License-Identifier: Apache-2.0
// Guard of every slow path in the host process: signals of this thread wait, errno comes back as it
// was, and a thread is not cancelled half-way. So no handler can cut into growth, leasing or
// interning.
#pragma once

#include <cerrno>
#include <csignal>
#include <pthread.h>

namespace gmt::interposer {

class SignalGuard {
public:
  SignalGuard() noexcept : errno_(errno) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask_);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_);
  }
  ~SignalGuard() {
    int ignored;
    pthread_setcancelstate(cancel_, &ignored);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    errno = errno_;
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

private:
  sigset_t mask_;
  int errno_;
  int cancel_ = PTHREAD_CANCEL_ENABLE;
};

} // namespace gmt::interposer
