// SPDX-License-Identifier: Apache-2.0
// What ring.cpp and modules.cpp share: the driver's own functions, and the lock under which one
// thread at a time calls them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/fork_guard.h"
#include "interposer/base/signal_guard.h"
#include "interposer/device_ring/drain.h"
#include "interposer/loader/driver_function.h"

namespace gmt::interposer {

class ThreadLog;

struct Driver {
  DriverFunction<int*> exchange_capture_mode{"cuThreadExchangeStreamCaptureMode"};
  DriverFunction<std::uint64_t> push_context{"cuCtxPushCurrent_v2"};
  DriverFunction<std::uint64_t*> pop_context{"cuCtxPopCurrent_v2"};
  DriverFunction<int*> context_device{"cuCtxGetDevice"};
  DriverFunction<int, unsigned*, int*> primary_state{"cuDevicePrimaryCtxGetState"};
  DriverFunction<void*, std::size_t, unsigned> register_host{"cuMemHostRegister_v2"};
  DriverFunction<void*> unregister_host{"cuMemHostUnregister"};
  DriverFunction<std::uint64_t*, void*, unsigned> device_pointer{"cuMemHostGetDevicePointer_v2"};
  DriverFunction<std::uint64_t*, std::size_t> allocate{"cuMemAlloc_v2"};
  DriverFunction<std::uint64_t> release{"cuMemFree_v2"};
  DriverFunction<std::uint64_t*, unsigned> make_stream{"cuStreamCreate"};
  DriverFunction<std::uint64_t> end_stream{"cuStreamDestroy_v2"};
  DriverFunction<std::uint64_t, const void*, std::size_t, std::uint64_t> copy{
    "cuMemcpyHtoDAsync_v2"};
  DriverFunction<std::uint64_t> is_done{"cuStreamQuery"};
  DriverFunction<std::uint64_t*, std::uint64_t> module_of{"cuFuncGetModule"};
  DriverFunction<std::uint64_t*, std::size_t*, std::uint64_t, const char*> variable{
    "cuModuleGetGlobal_v2"};
  // Of a CUkernel; not before CUDA 12
  DriverFunction<std::uint64_t*, std::uint64_t> function_of{"cuKernelGetFunction"};
};
extern Driver driver; // under the RingLock

// One thread at a time makes, hands over and ends rings: the second of two that launch kernels of
// one module must not go on before the module has its ring. The lock is held over CUDA calls, so
// waiting for it is bounded, and a thread that does not get it goes on without. The thread's
// capture mode is relaxed meanwhile.
class RingLock {
public:
  RingLock() noexcept;
  ~RingLock();
  RingLock(const RingLock&) = delete;
  RingLock& operator=(const RingLock&) = delete;
  bool ready() const noexcept { return ready_; }
  static void forget() noexcept; // in a forked child

private:
  const SignalGuard signals_;
  const InsideLocks guard_;
  const BoundedLock lock_;
  bool ready_ = false;
  int capture_mode_;
};

// False if the stream's work failed, or takes longer than copies of ours ever should.
bool wait_for(std::uint64_t stream) noexcept;

// The live ring of the current context, made if there is none; null if it can have none. Under the
// RingLock.
Ring* ring_of(ThreadLog& log, std::uint64_t context) noexcept;

} // namespace gmt::interposer
