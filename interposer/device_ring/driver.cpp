// SPDX-License-Identifier: Apache-2.0
// See driver.h.
#include "interposer/device_ring/driver.h"

#include <atomic>
#include <ctime>

#include "interposer/log/process.h"
#include "interposer/loader/real_dlsym.h"

namespace gmt::interposer {

constinit Driver driver{};

namespace {

constinit bool driver_known = false; // under the turn
constinit std::atomic<bool> taken{false};
constexpr int kLockMilliseconds = 400;
constexpr int kRelaxed = 2;                     // CU_STREAM_CAPTURE_MODE_RELAXED
// Nanoseconds. A copy of 8 bytes took over 50 ms on an H200 that 14 programs used at once.
constexpr std::uint64_t kPatience = 500'000'000;

template <class Function> bool look_up(Function*& function, const char* name) noexcept {
  return (function = reinterpret_cast<Function*>(driver_symbol(name))) != nullptr;
}

bool know_driver() noexcept {
  if (driver_known) return true;
  look_up(driver.function_of, "cuKernelGetFunction");
  return driver_known = look_up(driver.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode") &&
                        look_up(driver.push_context, "cuCtxPushCurrent_v2") &&
                        look_up(driver.pop_context, "cuCtxPopCurrent_v2") &&
                        look_up(driver.context_device, "cuCtxGetDevice") &&
                        look_up(driver.primary_state, "cuDevicePrimaryCtxGetState") &&
                        look_up(driver.register_host, "cuMemHostRegister_v2") &&
                        look_up(driver.unregister_host, "cuMemHostUnregister") &&
                        look_up(driver.device_pointer, "cuMemHostGetDevicePointer_v2") &&
                        look_up(driver.allocate, "cuMemAlloc_v2") && look_up(driver.release, "cuMemFree_v2") &&
                        look_up(driver.make_stream, "cuStreamCreate") &&
                        look_up(driver.end_stream, "cuStreamDestroy_v2") &&
                        look_up(driver.copy, "cuMemcpyHtoDAsync_v2") && look_up(driver.is_done, "cuStreamQuery") &&
                        look_up(driver.module_of, "cuFuncGetModule") &&
                        look_up(driver.variable, "cuModuleGetGlobal_v2");
}

} // namespace

Turn::Turn() noexcept : lock_(taken, kLockMilliseconds), capture_mode_(kRelaxed) {
  if (lock_.held() && know_driver()) ready_ = driver.exchange_capture_mode(&capture_mode_) == 0; // it now holds what it was
}

Turn::~Turn() {
  if (ready_) driver.exchange_capture_mode(&capture_mode_);
}

void Turn::forget() noexcept { taken.store(false); }

bool wait_for(std::uint64_t stream) noexcept {
  constexpr int kNotReady = 600; // CUDA_ERROR_NOT_READY
  const std::uint64_t begin = monotonic_ns();
  for (;;) {
    const int result = driver.is_done(stream);
    if (result != kNotReady) return result == 0;
    if (monotonic_ns() - begin > kPatience) return false;
    const timespec pause{0, 5000};
    nanosleep(&pause, nullptr);
  }
}

} // namespace gmt::interposer
