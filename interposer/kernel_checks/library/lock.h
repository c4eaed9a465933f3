// SPDX-License-Identifier: Apache-2.0
// The library's one lock. Held over its own tables alone, never over a call of the driver's or of
// the core's. Signals wait meanwhile: a handler of the program's may call CUDA.
#pragma once

#include <csignal>
#include <pthread.h>

namespace gmt::interposer::kernel_checks {

extern pthread_mutex_t mutex;

class Locked {
public:
  Locked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &signals_);
    pthread_mutex_lock(&mutex);
  }
  ~Locked() {
    pthread_mutex_unlock(&mutex);
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

private:
  sigset_t signals_{};
};

} // namespace gmt::interposer::kernel_checks
