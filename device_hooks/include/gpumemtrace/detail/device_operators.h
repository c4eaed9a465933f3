// SPDX-License-Identifier: Apache-2.0
// new, new[], delete and delete[] of kernels. Included by device.h.
//
// They exist in the device's compilation only: the host's operators stay who they are. They cannot know where they are
// called from; the report has the kernel by the grid. Inline, although the language reserves that, because every file
// of a program brings them. Placement new is not touched.
#pragma once

#include "gpumemtrace/device_calls.h"

#if defined(__CUDA_ARCH__)

#if defined(__NVCC__)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 2620 // declaring a new or delete operator "inline" is nonstandard
#elif defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winline-new-delete"
#endif

namespace gmt::device {

__device__ __forceinline__ void* logged_new(trace::DeviceOp op, std::size_t bytes) {
  void* const pointer = ::malloc(bytes);
  if (const std::uint64_t address = control<1>; address != 0) {
    log_event(address, {trace::Kind::kDeviceAlloc, op, 0, nullptr, nullptr, pointer, bytes, 0});
  }
  return pointer;
}

__device__ __forceinline__ void logged_delete(trace::DeviceOp op, void* pointer) {
  if (const std::uint64_t address = control<1>; address != 0 && pointer != nullptr) {
    log_event(address, {trace::Kind::kDeviceFree, op, 0, nullptr, nullptr, pointer, 0, 0});
  }
  ::free(pointer);
}

} // namespace gmt::device

__device__ inline void* operator new(std::size_t bytes) {
  return gmt::device::logged_new(gmt::trace::DeviceOp::kNew, bytes);
}
__device__ inline void* operator new[](std::size_t bytes) {
  return gmt::device::logged_new(gmt::trace::DeviceOp::kNewArray, bytes);
}
__device__ inline void operator delete(void* pointer) noexcept {
  gmt::device::logged_delete(gmt::trace::DeviceOp::kDelete, pointer);
}
__device__ inline void operator delete[](void* pointer) noexcept {
  gmt::device::logged_delete(gmt::trace::DeviceOp::kDeleteArray, pointer);
}
__device__ inline void operator delete(void* pointer, std::size_t) noexcept {
  gmt::device::logged_delete(gmt::trace::DeviceOp::kDelete, pointer);
}
__device__ inline void operator delete[](void* pointer, std::size_t) noexcept {
  gmt::device::logged_delete(gmt::trace::DeviceOp::kDeleteArray, pointer);
}

#if defined(__NVCC__)
#pragma nv_diagnostic pop
#elif defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif // __CUDA_ARCH__
