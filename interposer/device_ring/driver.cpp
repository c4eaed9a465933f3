// SPDX-License-Identifier: Apache-2.0
#include "interposer/device_ring/driver.h"

#include <atomic>
#include <ctime>

#include "interposer/log/process.h"

namespace gmt::interposer {

constinit Driver driver{};

namespace {

constinit bool driver_known = false; // under the lock
constinit std::atomic<bool> taken{false};
constexpr int kRingLockMilliseconds = 400;
constexpr int kRelaxed = 2; // CU_STREAM_CAPTURE_MODE_RELAXED
// Nanoseconds. A copy of 8 bytes took over 50 ms on an H200 that 14 programs used at once.
constexpr std::uint64_t kLongestCopy = 500'000'000;

bool know_driver() noexcept {
  if (driver_known) return true;
  Driver& d = driver;
  driver_known =
    are_there(d.exchange_capture_mode, d.push_context, d.pop_context, d.context_device,
              d.primary_state, d.register_host, d.unregister_host, d.device_pointer, d.allocate,
              d.release, d.make_stream, d.end_stream, d.copy, d.is_done, d.module_of, d.variable);
  return driver_known;
}

} // namespace

RingLock::RingLock() noexcept : lock_(taken, kRingLockMilliseconds), capture_mode_(kRelaxed) {
  if (lock_.held() && know_driver())
    ready_ = driver.exchange_capture_mode(&capture_mode_) == 0; // it now holds what it was
}

RingLock::~RingLock() {
  if (ready_) driver.exchange_capture_mode(&capture_mode_);
}

void RingLock::forget() noexcept { taken.store(false); }

bool wait_for(std::uint64_t stream) noexcept {
  constexpr int kNotReady = 600; // CUDA_ERROR_NOT_READY
  const std::uint64_t begin = monotonic_ns();
  for (;;) {
    const int result = driver.is_done(stream);
    if (result != kNotReady) return result == 0;
    if (monotonic_ns() - begin > kLongestCopy) return false;
    const timespec pause{0, 5000};
    nanosleep(&pause, nullptr);
  }
}

} // namespace gmt::interposer
