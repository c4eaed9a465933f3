// SPDX-License-Identifier: Apache-2.0
// The core's functions, the driver's own functions by name, and the scopes in which they are called
// on the tool's behalf.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "interposer/kernel_checks/interface.h"
#include "interposer/loader/driver_function.h"

namespace gmt::interposer::kernel_checks {

extern const KernelChecksCore* core; // set before anything else runs

inline void* look_up(const char* name) noexcept { return core->driver_symbol(name); }
template <class... Args> using DriverFunction = DriverFunctionBy<look_up, Args...>;

struct Driver {
  DriverFunction<CUcontext*> current{"cuCtxGetCurrent"};
  DriverFunction<CUcontext> push{"cuCtxPushCurrent_v2"};
  DriverFunction<CUcontext*> pop{"cuCtxPopCurrent_v2"};
  DriverFunction<CUdevice*> device{"cuCtxGetDevice"};
  DriverFunction<int*> device_count{"cuDeviceGetCount"};
  DriverFunction<int*> version{"cuDriverGetVersion"};
  DriverFunction<char*, int, CUdevice> device_name{"cuDeviceGetName"};
  DriverFunction<> synchronize{"cuCtxSynchronize"};
  DriverFunction<int*, CUdevice_attribute, CUdevice> attribute{"cuDeviceGetAttribute"};
  DriverFunction<std::size_t*, CUdevice> total{"cuDeviceTotalMem_v2"};
  DriverFunction<std::size_t*, CUlimit> limit{"cuCtxGetLimit"};
  DriverFunction<CUdevice, unsigned*, int*> primary_state{"cuDevicePrimaryCtxGetState"};
  DriverFunction<CUcontext*, CUdevice> retain_primary{"cuDevicePrimaryCtxRetain"};
  DriverFunction<CUdevice> release_primary{"cuDevicePrimaryCtxRelease_v2"};
  DriverFunction<CUstreamCaptureMode*> exchange_mode{"cuThreadExchangeStreamCaptureMode"};
  DriverFunction<CUstream*, unsigned> make_stream{"cuStreamCreate"};
  DriverFunction<CUstream> wait_for_stream{"cuStreamSynchronize"};
  DriverFunction<CUdeviceptr, unsigned short, std::size_t, CUstream> set_16{"cuMemsetD16Async"};
  DriverFunction<CUdeviceptr, unsigned char, std::size_t, CUstream> set_8{"cuMemsetD8Async"};
  DriverFunction<CUdeviceptr, const void*, std::size_t, CUstream> send{"cuMemcpyHtoDAsync_v2"};
  DriverFunction<void*, CUdeviceptr, std::size_t, CUstream> fetch{"cuMemcpyDtoHAsync_v2"};
  DriverFunction<CUdeviceptr*, std::size_t> allocate{"cuMemAlloc_v2"};
  DriverFunction<CUdeviceptr*, std::size_t*, std::size_t, std::size_t, unsigned> allocate_pitched{
    "cuMemAllocPitch_v2"};
  DriverFunction<CUdeviceptr> free{"cuMemFree_v2"};
  DriverFunction<void*, std::size_t, unsigned> register_host{"cuMemHostRegister_v2"};
  DriverFunction<CUdeviceptr*, void*, unsigned> address_on_device{"cuMemHostGetDevicePointer_v2"};
  DriverFunction<CUdeviceptr*, std::size_t*, CUdeviceptr> address_range{"cuMemGetAddressRange_v2"};
  DriverFunction<CUmemoryPool*, CUdevice> pool_of_device{"cuDeviceGetMemPool"};
  DriverFunction<CUstream> is_stream_busy{"cuStreamQuery"};
  DriverFunction<CUevent*, unsigned> make_event{"cuEventCreate"};
  DriverFunction<CUevent, CUstream> record_event{"cuEventRecord"};
  DriverFunction<CUevent> is_event_pending{"cuEventQuery"};
  DriverFunction<float*, CUevent, CUevent> time_between{"cuEventElapsedTime"};
  DriverFunction<CUstream, CUcontext*> stream_context{"cuStreamGetCtx"};
  DriverFunction<CUstream, CUcontext*, CUgreenCtx*> stream_contexts{"cuStreamGetCtx_v2"};
  DriverFunction<CUstream> end_stream{"cuStreamDestroy_v2"};
  DriverFunction<CUstream, unsigned long long*> stream_id{"cuStreamGetId"};
  DriverFunction<CUstream, CUstreamCaptureStatus*> capture_status{"cuStreamIsCapturing"};
  DriverFunction<CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr, unsigned long long> reserve{
    "cuMemAddressReserve"};
  DriverFunction<CUdeviceptr, std::size_t> give_addresses_back{"cuMemAddressFree"};
  DriverFunction<CUmemGenericAllocationHandle*, std::size_t, const CUmemAllocationProp*,
                 unsigned long long>
    create{"cuMemCreate"};
  DriverFunction<CUmemGenericAllocationHandle> release{"cuMemRelease"};
  DriverFunction<CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
                 unsigned long long>
    map{"cuMemMap"};
  DriverFunction<CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t> set_access{
    "cuMemSetAccess"};
  DriverFunction<std::size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags>
    granularity{"cuMemGetAllocationGranularity"};
  // ---- code
  DriverFunction<CUmodule*, const void*> load_module{"cuModuleLoadData"};
  DriverFunction<unsigned, CUjit_option*, void**, CUlinkState*> begin_link{"cuLinkCreate_v2"};
  DriverFunction<CUlinkState, CUjitInputType, void*, std::size_t, const char*, unsigned,
                 CUjit_option*, void**>
    add_to_link{"cuLinkAddData_v2"};
  DriverFunction<CUlinkState, void**, std::size_t*> complete_link{"cuLinkComplete"};
  DriverFunction<CUlinkState> end_link{"cuLinkDestroy"};
  DriverFunction<CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                 CUstream, void**, void**>
    launch{"cuLaunchKernel"};
  DriverFunction<CUlibrary*, CUkernel> library_of{"cuKernelGetLibrary"};
  DriverFunction<const char**, CUkernel> kernel_name{"cuKernelGetName"};
  DriverFunction<const char**, CUfunction> function_name{"cuFuncGetName"};
  DriverFunction<CUmodule*, CUfunction> module_of{"cuFuncGetModule"};
  DriverFunction<CUmodule*, CUlibrary> instance_of{"cuLibraryGetModule"};
  DriverFunction<CUkernel*, CUlibrary, const char*> kernel{"cuLibraryGetKernel"};
  DriverFunction<CUfunction*, CUmodule, const char*> function{"cuModuleGetFunction"};
  DriverFunction<CUdeviceptr*, std::size_t*, CUlibrary, const char*> library_variable{
    "cuLibraryGetGlobal"};
  DriverFunction<CUdeviceptr*, std::size_t*, CUmodule, const char*> module_variable{
    "cuModuleGetGlobal_v2"};
  DriverFunction<int*, CUfunction_attribute, CUfunction> function_attribute{"cuFuncGetAttribute"};
  DriverFunction<int*, CUfunction, int, std::size_t> blocks_at_once{
    "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  DriverFunction<CUfunction, CUfunction_attribute, int> set_function_attribute{
    "cuFuncSetAttribute"};
  DriverFunction<int*, CUfunction_attribute, CUkernel, CUdevice> kernel_attribute{
    "cuKernelGetAttribute"};
  DriverFunction<CUfunction_attribute, int, CUkernel, CUdevice> set_kernel_attribute{
    "cuKernelSetAttribute"};
  // ---- for bytes that nothing wrote
  DriverFunction<CUdeviceptr, std::size_t, unsigned char, std::size_t, std::size_t, CUstream>
    set_rows{"cuMemsetD2D8Async"};
  DriverFunction<void*, CUpointer_attribute, CUdeviceptr> pointer_attribute{
    "cuPointerGetAttribute"};
};
extern Driver driver;

// The driver's own function in whose place one of ours stands, by its exported name.
template <std::size_t Bytes> struct Name {
  char text[Bytes];
  consteval Name(const char (&from)[Bytes]) { // NOLINT: a literal is meant
    for (std::size_t i = 0; i < Bytes; ++i) text[i] = from[i];
  }
};
template <Name kName, class... Args> inline constinit DriverFunction<Args...> own{kName.text};

// Nothing that is called meanwhile ends a capture, of this thread's or another's.
class Relaxed {
public:
  Relaxed() noexcept { driver.exchange_mode(&mode_); }
  ~Relaxed() { driver.exchange_mode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// The same, and a context is current.
class Work {
public:
  explicit Work(CUcontext context) noexcept {
    CUcontext now = nullptr;
    if (driver.current(&now) == 0 && now == context) ready_ = true;
    else ready_ = pushed_ = driver.push(context) == 0;
  }
  ~Work() {
    CUcontext popped = nullptr;
    if (pushed_) driver.pop(&popped);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  bool ready() const noexcept { return ready_; }

private:
  Relaxed relaxed_;
  bool ready_ = false, pushed_ = false;
};

} // namespace gmt::interposer::kernel_checks
