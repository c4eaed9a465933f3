// SPDX-License-Identifier: Apache-2.0
// The calling thread, as CUDA sees it.
#pragma once

#include <cstdint>
#include <pthread.h>

#include "interposer/coalescing/collector/driver.h"

namespace gmt::interposer::collector {

// Even, and of no other thread alive.
inline std::uint64_t this_thread() noexcept {
  return static_cast<std::uint64_t>(pthread_self()) & ~std::uint64_t{1};
}

// What this thread calls meanwhile disturbs no capture.
class RelaxedCapture {
public:
  RelaxedCapture() noexcept
      : relaxed_(exchange_capture_mode(&mode_) == 0) {} // `mode_` then holds what it was
  ~RelaxedCapture() {
    if (relaxed_) exchange_capture_mode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

private:
  int mode_ = 2; // CU_STREAM_CAPTURE_MODE_RELAXED
  bool relaxed_;
};

// Makes a context current where another is.
class Current {
public:
  explicit Current(std::uint64_t context) noexcept
      : other_(core->current_context() != context), good_(!other_ || push_context(context) == 0) {}
  ~Current() {
    std::uint64_t popped = 0;
    if (other_ && good_) pop_context(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  bool good() const noexcept { return good_; }

private:
  bool other_, good_;
};

} // namespace gmt::interposer::collector
