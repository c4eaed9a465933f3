// SPDX-License-Identifier: Apache-2.0
// The logged calls by their own names, for single calls in a kernel; nothing else of the including
// file changes:
//
//   gpumemtrace_malloc(bytes)                      malloc
//   gpumemtrace_free(pointer)                      free
//   gpumemtrace_aligned_malloc(bytes, alignment)   __nv_aligned_device_malloc
//
// <gpumemtrace/device.h> does this for all calls of a file. In a kernel each call asks one variable
// of its module whether calls are recorded; on the host they are the C library's. Needs C++17;
// nothing need be linked.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdlib>

#include "gpumemtrace/detail/device_event.h"

// In a kernel: an allocation is logged when it is made, a free before it is done, because a wrong
// one ends the context.

__host__ __device__ __forceinline__ void*
gpumemtrace_malloc(std::size_t bytes, const char* file = __builtin_FILE(),
                   unsigned line = __builtin_LINE(), const char* function = __builtin_FUNCTION()) {
  void* const pointer = ::malloc(bytes);
#if defined(__CUDA_ARCH__)
  if (const std::uint64_t control = gmt::device::control<1>; control != 0) {
    using namespace gmt;
    device::log_event(control, {trace::Kind::kDeviceAlloc, trace::DeviceOp::kMalloc, line, file,
                                function, pointer, bytes, 0});
  }
#else
  (void)file, (void)line, (void)function;
#endif
  return pointer;
}

__host__ __device__ __forceinline__ void
gpumemtrace_free(void* pointer, const char* file = __builtin_FILE(),
                 unsigned line = __builtin_LINE(), const char* function = __builtin_FUNCTION()) {
#if defined(__CUDA_ARCH__)
  if (const std::uint64_t control = gmt::device::control<1>; control != 0 && pointer != nullptr) {
    using namespace gmt;
    device::log_event(control, {trace::Kind::kDeviceFree, trace::DeviceOp::kFree, line, file,
                                function, pointer, 0, 0});
  }
#else
  (void)file, (void)line, (void)function;
#endif
  ::free(pointer);
}

#if defined(__NVCC__) // clang's CUDA headers lack what it stands for
__device__ __forceinline__ void*
gpumemtrace_aligned_malloc(std::size_t bytes, std::size_t alignment,
                           const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(),
                           const char* function = __builtin_FUNCTION()) {
  void* const pointer = ::__nv_aligned_device_malloc(bytes, alignment);
  if (const std::uint64_t control = gmt::device::control<1>; control != 0) {
    using namespace gmt;
    device::log_event(control, {trace::Kind::kDeviceAlloc, trace::DeviceOp::kAlignedMalloc, line,
                                file, function, pointer, bytes, alignment});
  }
  return pointer;
}
#endif
