// SPDX-License-Identifier: Apache-2.0
// new, new[], delete and delete[] of kernels.
//
// They exist in the device's compilation only: the host's operators stay what they are. They cannot
// know where they are called from; the report has the kernel by the grid. Inline, although the
// language reserves that, because every file of a program brings them. Placement new is left alone.
//
// clang has a header of its own with such operators for device code. It comes with the first <new>
// behind clang's CUDA headers, unless its guard says that it was there: so ours must be the first,
// and nothing is logged if it is not.
#pragma once

#if defined(__clang__) && !defined(__NVCC__) && !defined(__CLANG_CUDA_WRAPPERS_NEW)
#define GMT_OPERATORS_OF_CLANG
#pragma push_macro("__device__")
#undef __device__ // then clang's header includes the library's <new> and leaves it at that
#include <new>
#pragma pop_macro("__device__")
#define __CLANG_CUDA_WRAPPERS_NEW
#endif

#include <new>

#include "gpumemtrace/device_calls.h"

#if (defined(__NVCC__) && defined(__CUDA_ARCH__)) || defined(GMT_OPERATORS_OF_CLANG)

#if defined(__NVCC__)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 2620 // declaring a new or delete operator "inline" is nonstandard
#else
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winline-new-delete"
#endif

namespace gmt::device {

// alignment 0: none was asked for.
__device__ __forceinline__ void* logged_new(trace::DeviceOp op, std::size_t bytes,
                                            std::size_t alignment = 0) {
#if defined(__NVCC__)
  void* const pointer =
    alignment == 0 ? ::malloc(bytes) : ::__nv_aligned_device_malloc(bytes, alignment);
#else
  if (bytes == 0) bytes = 1; // as clang's own does
  void* const pointer = ::malloc(bytes);
#endif
  if (const std::uint64_t address = control<1>; address != 0) {
    log_event(address,
              {trace::Kind::kDeviceAlloc, op, 0, nullptr, nullptr, pointer, bytes, alignment});
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

// Of types with a larger alignment than malloc gives. clang cannot compile these for the device.
__device__ inline void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return gmt::device::logged_new(gmt::trace::DeviceOp::kNew, bytes,
                                 static_cast<std::size_t>(alignment));
}
__device__ inline void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return gmt::device::logged_new(gmt::trace::DeviceOp::kNewArray, bytes,
                                 static_cast<std::size_t>(alignment));
}
__device__ inline void operator delete(void* pointer, std::align_val_t) noexcept {
  gmt::device::logged_delete(gmt::trace::DeviceOp::kDelete, pointer);
}
__device__ inline void operator delete[](void* pointer, std::align_val_t) noexcept {
  gmt::device::logged_delete(gmt::trace::DeviceOp::kDeleteArray, pointer);
}
__device__ inline void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept {
  gmt::device::logged_delete(gmt::trace::DeviceOp::kDelete, pointer);
}
__device__ inline void operator delete[](void* pointer, std::size_t, std::align_val_t) noexcept {
  gmt::device::logged_delete(gmt::trace::DeviceOp::kDeleteArray, pointer);
}

#pragma nv_diagnostic pop

#else // what else clang's header has

__device__ inline void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return ::operator new(bytes);
}
__device__ inline void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return ::operator new[](bytes);
}
__device__ inline void operator delete(void* pointer, const std::nothrow_t&) noexcept {
  ::operator delete(pointer);
}
__device__ inline void operator delete[](void* pointer, const std::nothrow_t&) noexcept {
  ::operator delete[](pointer);
}
__device__ inline void* operator new(std::size_t, void* memory) noexcept { return memory; }
__device__ inline void* operator new[](std::size_t, void* memory) noexcept { return memory; }
__device__ inline void operator delete(void*, void*) noexcept {}
__device__ inline void operator delete[](void*, void*) noexcept {}

#pragma clang diagnostic pop

#endif
#endif
