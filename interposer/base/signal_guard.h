// SPDX-License-Identifier: Apache-2.0
// Guard of every slow path in the host process: signals of this thread wait, errno comes back as it
// was, and a thread is not cancelled half-way. So no handler can cut into growth, leasing or
// interning.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gmt::interposer {

// The kernel's own mask, of 8 bytes: the C library's has 128, and there may be a few hundred in
// all. As there, two of its signals are left alone: one cancels threads, one sets ids for all of
// them.
class SignalGuard {
public:
  SignalGuard() noexcept : errno_(errno) {
    const std::uint64_t all = ~(std::uint64_t{3} << (kFirstInternal - 1));
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask_, sizeof mask_);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_);
  }
  ~SignalGuard() {
    int ignored;
    pthread_setcancelstate(cancel_, &ignored);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_, nullptr, sizeof mask_);
    errno = errno_;
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

private:
  static constexpr unsigned kFirstInternal = 32;
  std::uint64_t mask_ = 0;
  int errno_;
  int cancel_ = PTHREAD_CANCEL_ENABLE;
};

} // namespace gmt::interposer
