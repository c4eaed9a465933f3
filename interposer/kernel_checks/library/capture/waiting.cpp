// SPDX-License-Identifier: Apache-2.0
// The program's work may wait for what its host does behind the launch: a kernel that polls a flag,
// a host function, another rank. So no wait is without an end.
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <thread>

#include "interposer/kernel_checks/library/capture/capture.h"
#include "interposer/kernel_checks/library/driver.h"

namespace gmt::interposer::kernel_checks {

namespace {

struct Waited {
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<int> result;
};

// The program's handlers of signals do not run in threads that begin meanwhile.
class SignalsBlocked {
public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
  sigset_t before_{};
};

std::chrono::seconds longest_wait() noexcept {
  return std::chrono::seconds(core->settings.capture_wait);
}

int result_of(CUcontext context) noexcept {
  const Work work(context);
  return work.ready() ? driver.synchronize() : CUDA_ERROR_INVALID_CONTEXT;
}

std::optional<int> wait_for_event(CUevent event) noexcept {
  const auto end = std::chrono::steady_clock::now() + longest_wait();
  constexpr std::chrono::microseconds kLongestPause{1000};
  std::chrono::microseconds pause{10};
  for (;;) {
    const int result = driver.is_event_pending(event);
    if (result != CUDA_ERROR_NOT_READY) return result;
    if (std::chrono::steady_clock::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

} // namespace

std::optional<int> wait_for_context(CUcontext context) {
  const auto waited = std::make_shared<Waited>();
  {
    const SignalsBlocked blocked;
    std::thread([waited, context] {
      const int result = result_of(context);
      const std::lock_guard lock(waited->mutex);
      waited->result = result;
      waited->ended.notify_all();
    }).detach();
  }
  std::unique_lock lock(waited->mutex);
  waited->ended.wait_for(lock, longest_wait(), [&] { return waited->result.has_value(); });
  return waited->result;
}

std::optional<int> wait_for_launch(CUstream named) noexcept {
  CUevent event = nullptr;
  int result = driver.make_event(&event, CU_EVENT_DISABLE_TIMING);
  if (result != 0) return result; // of the launch: its context has ended
  result = driver.record_event(event, named);
  const std::optional<int> ended = result != 0 ? result : wait_for_event(event);
  own<"cuEventDestroy_v2", CUevent>(event);
  return ended;
}

} // namespace gmt::interposer::kernel_checks
