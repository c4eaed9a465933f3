// SPDX-License-Identifier: Apache-2.0
// The driver's own functions, unrecorded: each is looked up once, because a look-up takes the loader's lock. Used by
// every file of the collector that asks the driver something.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/coalescing/collector/core.h"

namespace gmt::interposer::collector {

constexpr int kNoSuchFunction = 500; // CUDA_ERROR_NOT_FOUND

template <class... Args> class DriverFunction {
public:
  constexpr explicit DriverFunction(const char* name) noexcept : name_(name) {}
  int operator()(Args... args) noexcept {
    void* f = function_.load(std::memory_order_relaxed);
    if (f == nullptr) function_.store(f = core->driver_symbol(name_), std::memory_order_relaxed);
    return f != nullptr ? reinterpret_cast<int (*)(Args...)>(f)(args...) : kNoSuchFunction;
  }

private:
  const char* name_;
  std::atomic<void*> function_{nullptr};
};

inline constinit DriverFunction<std::uint64_t> ask_stream{"cuStreamQuery"};
inline constinit DriverFunction<std::uint64_t, int*> ask_capture{"cuStreamIsCapturing"};
inline constinit DriverFunction<int*> exchange_capture_mode{"cuThreadExchangeStreamCaptureMode"};
inline constinit DriverFunction<std::uint64_t> push_context{"cuCtxPushCurrent_v2"};
inline constinit DriverFunction<std::uint64_t*> pop_context{"cuCtxPopCurrent_v2"};
inline constinit DriverFunction<int*> ask_device{"cuCtxGetDevice"};
inline constinit DriverFunction<int*, int, int> ask_attribute{"cuDeviceGetAttribute"};
inline constinit DriverFunction<int, unsigned*, int*> ask_primary_state{"cuDevicePrimaryCtxGetState"};
inline constinit DriverFunction<std::uint64_t*, unsigned> make_event{"cuEventCreate"};
inline constinit DriverFunction<std::uint64_t, std::uint64_t> record_event{"cuEventRecord"};
inline constinit DriverFunction<std::uint64_t> ask_event{"cuEventQuery"};
inline constinit DriverFunction<float*, std::uint64_t, std::uint64_t> elapsed_time{"cuEventElapsedTime"};
inline constinit DriverFunction<float*, std::uint64_t, std::uint64_t> elapsed_time_v2{"cuEventElapsedTime_v2"};
inline constinit DriverFunction<std::uint64_t*, std::uint64_t> function_of_kernel{"cuKernelGetFunction"}; // loads it
inline constinit DriverFunction<std::uint64_t> load_function{"cuFuncLoad"};
inline constinit DriverFunction<const char**, std::uint64_t> name_of_function{"cuFuncGetName"};
inline constinit DriverFunction<const char**, std::uint64_t> name_of_kernel{"cuKernelGetName"};

} // namespace gmt::interposer::collector
