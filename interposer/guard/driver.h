// SPDX-License-Identifier: Apache-2.0
// The driver's own functions that the fence needs, unrecorded, and scopes for their use. The
// thread's capture mode is relaxed inside GuardWork, so that nothing here ends a capture.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "interposer/loader/driver_function.h"

namespace gmt::interposer {

struct GuardDriver {
  DriverFunction<CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr, unsigned long long> reserve{
    "cuMemAddressReserve"};
  DriverFunction<CUmemGenericAllocationHandle*, std::size_t, const CUmemAllocationProp*,
                 unsigned long long>
    create{"cuMemCreate"};
  DriverFunction<CUmemGenericAllocationHandle> release{"cuMemRelease"};
  DriverFunction<CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
                 unsigned long long>
    map{"cuMemMap"};
  DriverFunction<CUdeviceptr, std::size_t> unmap{"cuMemUnmap"};
  DriverFunction<CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t> set_access{
    "cuMemSetAccess"};
  DriverFunction<std::size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags>
    granularity{"cuMemGetAllocationGranularity"};
  DriverFunction<int*, CUdevice_attribute, CUdevice> attribute{"cuDeviceGetAttribute"};
  DriverFunction<CUcontext*> current{"cuCtxGetCurrent"};
  DriverFunction<CUdevice*> device{"cuCtxGetDevice"};
  DriverFunction<CUcontext> push{"cuCtxPushCurrent_v2"};
  DriverFunction<CUcontext*> pop{"cuCtxPopCurrent_v2"};
  DriverFunction<> synchronize{"cuCtxSynchronize"};
  DriverFunction<CUdevice, unsigned*, int*> primary_state{"cuDevicePrimaryCtxGetState"};
  DriverFunction<CUstreamCaptureMode*> exchange_mode{"cuThreadExchangeStreamCaptureMode"};
  DriverFunction<CUstream, CUstreamCaptureStatus*> is_capturing{"cuStreamIsCapturing"};
  DriverFunction<CUevent*, unsigned> make_event{"cuEventCreate"};
  DriverFunction<CUevent, CUstream> record{"cuEventRecord"};
  DriverFunction<CUevent> is_done{"cuEventQuery"};
  DriverFunction<CUevent> wait{"cuEventSynchronize"};
  DriverFunction<CUevent> end_event{"cuEventDestroy_v2"};
  DriverFunction<CUstream*, unsigned> make_stream{"cuStreamCreate"};
  DriverFunction<CUstream> is_idle{"cuStreamQuery"};
  DriverFunction<CUdeviceptr, unsigned char, std::size_t, CUstream> set{"cuMemsetD8Async"};
  DriverFunction<void*, CUdeviceptr, std::size_t, CUstream> fetch{"cuMemcpyDtoHAsync_v2"};
  DriverFunction<void**, std::size_t, unsigned> host_memory{"cuMemHostAlloc"};
  DriverFunction<CUdeviceptr*, std::size_t*, std::size_t, std::size_t, unsigned> pitched{
    "cuMemAllocPitch_v2"};
  DriverFunction<CUdeviceptr*, std::size_t> allocate{"cuMemAlloc_v2"};
  DriverFunction<CUdeviceptr> give_back{"cuMemFree_v2"};
  DriverFunction<std::size_t*, CUdevice> total{"cuDeviceTotalMem_v2"};
  // Not before CUDA 11.2: without them there is no stream-ordered memory
  DriverFunction<CUmemoryPool*, CUdevice> current_pool{"cuDeviceGetMemPool"};
  DriverFunction<CUmemoryPool*, CUdevice> first_pool{"cuDeviceGetDefaultMemPool"};
};
extern GuardDriver guard_driver;

// Whether the driver has all that the fence cannot do without.
bool guard_driver_is_complete() noexcept;

class GuardWork {
public:
  GuardWork() noexcept { guard_driver.exchange_mode(&mode_); }
  ~GuardWork() { guard_driver.exchange_mode(&mode_); }
  GuardWork(const GuardWork&) = delete;
  GuardWork& operator=(const GuardWork&) = delete;

private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// A context is current meanwhile.
class WithContext {
public:
  explicit WithContext(CUcontext context) noexcept {
    CUcontext now = nullptr;
    if (guard_driver.current(&now) == 0 && now == context) {
      ready_ = true;
    } else {
      ready_ = pushed_ = guard_driver.push(context) == 0;
    }
  }
  ~WithContext() {
    CUcontext popped = nullptr;
    if (pushed_) guard_driver.pop(&popped);
  }
  WithContext(const WithContext&) = delete;
  WithContext& operator=(const WithContext&) = delete;
  bool ready() const noexcept { return ready_; }

private:
  bool ready_ = false, pushed_ = false;
};

} // namespace gmt::interposer
