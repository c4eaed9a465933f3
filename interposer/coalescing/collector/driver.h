// SPDX-License-Identifier: Apache-2.0
// The driver's own functions, unrecorded, that the collector asks something.
#pragma once

#include <cstdint>

#include "interposer/coalescing/collector/core.h"
#include "interposer/loader/driver_function.h"

namespace gmt::interposer::collector {

inline void* symbol_of_core(const char* name) noexcept { return core->driver_symbol(name); }
template <class... Args> using DriverFunction = DriverFunctionBy<symbol_of_core, Args...>;

inline constinit DriverFunction<std::uint64_t> ask_stream{"cuStreamQuery"};
inline constinit DriverFunction<std::uint64_t, int*> ask_capture{"cuStreamIsCapturing"};
inline constinit DriverFunction<int*> exchange_capture_mode{"cuThreadExchangeStreamCaptureMode"};
inline constinit DriverFunction<std::uint64_t> push_context{"cuCtxPushCurrent_v2"};
inline constinit DriverFunction<std::uint64_t*> pop_context{"cuCtxPopCurrent_v2"};
inline constinit DriverFunction<int*> ask_device{"cuCtxGetDevice"};
inline constinit DriverFunction<int*, int, int> ask_attribute{"cuDeviceGetAttribute"};
inline constinit DriverFunction<int, unsigned*, int*> ask_primary_state{
  "cuDevicePrimaryCtxGetState"};
inline constinit DriverFunction<std::uint64_t*, unsigned> make_event{"cuEventCreate"};
inline constinit DriverFunction<std::uint64_t, std::uint64_t> record_event{"cuEventRecord"};
inline constinit DriverFunction<std::uint64_t> ask_event{"cuEventQuery"};
inline constinit DriverFunction<float*, std::uint64_t, std::uint64_t> elapsed_time{
  "cuEventElapsedTime"};
inline constinit DriverFunction<float*, std::uint64_t, std::uint64_t> elapsed_time_v2{
  "cuEventElapsedTime_v2"};
inline constinit DriverFunction<std::uint64_t*, std::uint64_t> function_of_kernel{
  "cuKernelGetFunction"}; // loads it
inline constinit DriverFunction<std::uint64_t> load_function{"cuFuncLoad"};
inline constinit DriverFunction<const char**, std::uint64_t> name_of_function{"cuFuncGetName"};
inline constinit DriverFunction<const char**, std::uint64_t> name_of_kernel{"cuKernelGetName"};

} // namespace gmt::interposer::collector
