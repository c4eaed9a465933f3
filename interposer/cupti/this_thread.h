// SPDX-License-Identifier: Apache-2.0
// The calling thread, as CUDA sees it. Used by windows.cpp and library.cpp.
#pragma once

#include <cstdint>
#include <pthread.h>

#include "interposer/cupti/core.h"

namespace gmt::interposer::collector {

// Even, and of no other thread alive.
inline std::uint64_t this_thread() noexcept { return static_cast<std::uint64_t>(pthread_self()) & ~std::uint64_t{1}; }

// What this thread calls meanwhile disturbs no capture.
class RelaxedCapture {
public:
  RelaxedCapture() noexcept
      : exchange_(reinterpret_cast<int (*)(int*)>(core->driver_symbol("cuThreadExchangeStreamCaptureMode"))) {
    if (exchange_ != nullptr && exchange_(&mode_) != 0) exchange_ = nullptr; // `mode_` now holds what it was
  }
  ~RelaxedCapture() {
    if (exchange_ != nullptr) exchange_(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

private:
  int mode_ = 2; // CU_STREAM_CAPTURE_MODE_RELAXED
  int (*exchange_)(int*);
};

// Makes a context current where another is.
class Current {
public:
  explicit Current(std::uint64_t context) noexcept : pushed_(core->current_context() != context) {
    const auto push = reinterpret_cast<int (*)(std::uint64_t)>(core->driver_symbol("cuCtxPushCurrent_v2"));
    if (pushed_) good_ = push != nullptr && push(context) == 0;
  }
  ~Current() {
    const auto pop = reinterpret_cast<int (*)(std::uint64_t*)>(core->driver_symbol("cuCtxPopCurrent_v2"));
    std::uint64_t popped = 0;
    if (pushed_ && good_ && pop != nullptr) pop(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  bool good() const noexcept { return good_; }

private:
  bool pushed_, good_ = true;
};

} // namespace gmt::interposer::collector
