// SPDX-License-Identifier: Apache-2.0
// Replacements of what allocates, frees and waits. Each does what the driver does where the fence
// does not answer.
#include "interposer/guard/captures.h"
#include "interposer/guard/devices.h"
#include "interposer/guard/driver.h"
#include "interposer/guard/fence.h"
#include "interposer/guard/notes.h"
#include "interposer/guard/pools.h"
#include "interposer/guard/replacements/replacements.h"
#include "interposer/guard/store/physical.h"

namespace gmt::interposer {

namespace {

#define ROW(symbol) driver_row<decltype(symbol##_here)>(trace::kApi_##symbol)
#define HERE(symbol) install(trace::kApi_##symbol, reinterpret_cast<void*>(&symbol##_here))
#define AS(symbol, ...) install(trace::kApi_##symbol, reinterpret_cast<void*>(&__VA_ARGS__))

// The driver's own allocation. Where it finds no memory, it gets back what the fence keeps or has
// not given back yet.
template <class Function, class... Args> CUresult plainly(Function* real, Args... args) noexcept {
  const CUresult result = real(args...);
  CUdevice device = -1;
  if (result != CUDA_ERROR_OUT_OF_MEMORY || !guard_is_on() || any_capture()) return result;
  if (guard_driver.device(&device) != 0) return result;
  finish_releases(true);
  if (kept_bytes(device) == 0) return result;
  release_kept(device);
  return real(args...);
}

// ---- allocations

CUresult cuMemAlloc_v2_here(CUdeviceptr* address, std::size_t bytes) noexcept {
  if (guard_is_on() && allocate_guarded(bytes, nullptr, 0, address)) return CUDA_SUCCESS;
  return plainly(ROW(cuMemAlloc_v2), address, bytes);
}

// Rows begin where the driver would have them begin; false if the arguments are not plainly right.
bool pitched(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t height,
             unsigned element) noexcept {
  constexpr std::size_t kMost = std::size_t{1} << 31;
  if (pitch == nullptr || width == 0 || height == 0 || width >= kMost || height > kMost ||
      (element != 4 && element != 8 && element != 16) || any_capture())
    return false;
  CUdevice ordinal = -1;
  GuardDevice* device = guard_driver.device(&ordinal) == 0 ? guard_device(ordinal) : nullptr;
  const std::uint64_t alignment = device != nullptr ? ask_pitch_alignment(*device) : 0;
  if (alignment == 0) return false;
  const std::uint64_t row = (width + alignment - 1) / alignment * alignment;
  if (!allocate_guarded(row * height, nullptr, 0, address)) return false;
  *pitch = row;
  return true;
}

CUresult cuMemAllocPitch_v2_here(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                                 std::size_t height, unsigned element) noexcept {
  if (guard_is_on() && pitched(address, pitch, width, height, element)) return CUDA_SUCCESS;
  return plainly(ROW(cuMemAllocPitch_v2), address, pitch, width, height, element);
}

// Memory of a pool that can be used at once, whatever the stream still does.
bool from_pool(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
               CUstream stream) noexcept {
  CUdevice device = -1;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (guard_driver.device(&device) != 0) return false;
  if (pool == nullptr && guard_driver.current_pool(&pool, device) != 0) return false;
  if (guard_driver.is_capturing(stream, &status) != 0) return false; // no stream: CUDA says so
  if (!pool_can_be_fenced(pool, device)) {
    count_plain(trace::GuardPlain::kSharedPool);
    return false;
  }
  return allocate_guarded(bytes, pool, pool_peers(pool), address);
}

CUresult cuMemAllocAsync_here(CUdeviceptr* address, std::size_t bytes, CUstream stream) noexcept {
  if (guard_is_on() && from_pool(address, bytes, nullptr, stream)) return CUDA_SUCCESS;
  return plainly(ROW(cuMemAllocAsync), address, bytes, stream);
}
CUresult cuMemAllocAsync_ptsz_here(CUdeviceptr* address, std::size_t bytes,
                                   CUstream stream) noexcept {
  if (guard_is_on() && from_pool(address, bytes, nullptr, of_thread(stream))) return CUDA_SUCCESS;
  return plainly(ROW(cuMemAllocAsync_ptsz), address, bytes, stream);
}
CUresult cuMemAllocFromPoolAsync_here(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                                      CUstream stream) noexcept {
  if (guard_is_on() && pool != nullptr && from_pool(address, bytes, pool, stream))
    return CUDA_SUCCESS;
  return plainly(ROW(cuMemAllocFromPoolAsync), address, bytes, pool, stream);
}
CUresult cuMemAllocFromPoolAsync_ptsz_here(CUdeviceptr* address, std::size_t bytes,
                                           CUmemoryPool pool, CUstream stream) noexcept {
  if (guard_is_on() && pool != nullptr && from_pool(address, bytes, pool, of_thread(stream)))
    return CUDA_SUCCESS;
  return plainly(ROW(cuMemAllocFromPoolAsync_ptsz), address, bytes, pool, stream);
}

// ---- frees

CUresult cuMemFree_v2_here(CUdeviceptr address) noexcept {
  CUresult result = CUDA_SUCCESS;
  if (guard_is_on() && free_guarded(address, &result)) return result;
  return ROW(cuMemFree_v2)(address);
}
CUresult cuMemFreeAsync_here(CUdeviceptr address, CUstream stream) noexcept {
  CUresult result = CUDA_SUCCESS;
  if (guard_is_on() && free_guarded_async(address, stream, &result)) return result;
  return ROW(cuMemFreeAsync)(address, stream);
}
CUresult cuMemFreeAsync_ptsz_here(CUdeviceptr address, CUstream stream) noexcept {
  CUresult result = CUDA_SUCCESS;
  if (guard_is_on() && free_guarded_async(address, of_thread(stream), &result)) return result;
  return ROW(cuMemFreeAsync_ptsz)(address, stream);
}

// ---- waits: what was freed before them can be unmapped behind them

template <std::uint16_t Row, class... Args> CUresult waits(Args... args) noexcept {
  const CUresult result = driver_row<CUresult(Args...)>(Row)(args...);
  if (result == CUDA_SUCCESS && guard_is_on() && !any_capture()) finish_releases(false);
  return result;
}

} // namespace

void install_memory(Install install) noexcept {
  HERE(cuMemAlloc_v2);
  HERE(cuMemAllocPitch_v2);
  HERE(cuMemAllocAsync);
  HERE(cuMemAllocAsync_ptsz);
  HERE(cuMemAllocFromPoolAsync);
  HERE(cuMemAllocFromPoolAsync_ptsz);
  HERE(cuMemFree_v2);
  HERE(cuMemFreeAsync);
  HERE(cuMemFreeAsync_ptsz);
  AS(cuCtxSynchronize, waits<trace::kApi_cuCtxSynchronize>);
  AS(cuCtxSynchronize_v2, waits<trace::kApi_cuCtxSynchronize_v2, CUcontext>);
  AS(cuStreamSynchronize, waits<trace::kApi_cuStreamSynchronize, CUstream>);
  AS(cuStreamSynchronize_ptsz, waits<trace::kApi_cuStreamSynchronize_ptsz, CUstream>);
  AS(cuEventSynchronize, waits<trace::kApi_cuEventSynchronize, CUevent>);
}

} // namespace gmt::interposer
