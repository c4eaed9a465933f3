// SPDX-License-Identifier: Apache-2.0
// Replacements of what changes contexts, pools, peers and captures, and of what gives memory to
// other processes. Each calls the driver, whose answer the program gets.
#include "interposer/guard/captures.h"
#include "interposer/guard/devices.h"
#include "interposer/guard/driver.h"
#include "interposer/guard/exclusions.h"
#include "interposer/guard/fence.h"
#include "interposer/guard/notes.h"
#include "interposer/guard/pools.h"
#include "interposer/guard/replacements/replacements.h"

namespace gmt::interposer {

namespace {

#define ROW(symbol) driver_row<decltype(symbol##_here)>(trace::kApi_##symbol)
#define HERE(symbol) install(trace::kApi_##symbol, reinterpret_cast<void*>(&symbol##_here))
#define AS(symbol, ...) install(trace::kApi_##symbol, reinterpret_cast<void*>(&__VA_ARGS__))

// ---- contexts

// The context of a device's primary one, while it is there.
CUcontext primary_of(CUdevice device) noexcept {
  auto* const retain =
    driver_row<CUresult(CUcontext*, CUdevice)>(trace::kApi_cuDevicePrimaryCtxRetain);
  auto* const release = driver_row<CUresult(CUdevice)>(trace::kApi_cuDevicePrimaryCtxRelease_v2);
  unsigned flags = 0;
  int active = 0;
  CUcontext context = nullptr;
  if (guard_driver.primary_state(device, &flags, &active) != 0 || active == 0) return nullptr;
  if (retain == nullptr || release == nullptr || retain(&context, device) != 0) return nullptr;
  release(device);
  return context;
}

template <std::uint16_t Row> CUresult ends_primary(CUdevice device) noexcept {
  const CUcontext context = guard_is_on() ? primary_of(device) : nullptr;
  if (context != nullptr) check_live_blocks(context, trace::GuardMoment::kEnd);
  const CUresult result = driver_row<CUresult(CUdevice)>(Row)(device);
  unsigned flags = 0;
  int active = 0;
  if (context != nullptr && result == CUDA_SUCCESS &&
      guard_driver.primary_state(device, &flags, &active) == 0 && active == 0)
    end_blocks_of(context);
  return result;
}

template <std::uint16_t Row> CUresult ends_context(CUcontext context) noexcept {
  const bool on = guard_is_on() && context != nullptr;
  if (on) check_live_blocks(context, trace::GuardMoment::kEnd);
  const CUresult result = driver_row<CUresult(CUcontext)>(Row)(context);
  if (on && result == CUDA_SUCCESS) end_blocks_of(context);
  return result;
}

// ---- pools and peers

CUresult cuMemPoolCreate_here(CUmemoryPool* pool, const CUmemPoolProps* properties) noexcept {
  const CUresult result = ROW(cuMemPoolCreate)(pool, properties);
  if (result == CUDA_SUCCESS && guard_is_on()) pool_was_made(*pool, *properties);
  return result;
}
CUresult cuMemPoolImportFromShareableHandle_here(CUmemoryPool* pool, void* handle,
                                                 CUmemAllocationHandleType type,
                                                 unsigned long long flags) noexcept {
  const CUresult result = ROW(cuMemPoolImportFromShareableHandle)(pool, handle, type, flags);
  if (result == CUDA_SUCCESS && guard_is_on()) pool_cannot_be_fenced(*pool);
  return result;
}
CUresult cuMemPoolDestroy_here(CUmemoryPool pool) noexcept {
  const CUresult result = ROW(cuMemPoolDestroy)(pool);
  if (result == CUDA_SUCCESS && guard_is_on()) pool_has_ended(pool);
  return result;
}
CUresult cuMemPoolSetAccess_here(CUmemoryPool pool, const CUmemAccessDesc* map,
                                 std::size_t count) noexcept {
  const CUresult result = ROW(cuMemPoolSetAccess)(pool, map, count);
  for (std::size_t i = 0; result == CUDA_SUCCESS && guard_is_on() && i < count; ++i) {
    if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) continue;
    const bool may = map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    pool_access(pool, map[i].location.id, may);
    change_access(pool, -1, map[i].location.id, may);
  }
  return result;
}
CUresult cuMemPoolSetAttribute_here(CUmemoryPool pool, CUmemPool_attribute attribute,
                                    void* value) noexcept {
  const CUresult result = ROW(cuMemPoolSetAttribute)(pool, attribute, value);
  const bool high =
    attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
  if (result == CUDA_SUCCESS && high && guard_is_on()) reset_pool_high(pool);
  return result;
}

// The device of a context may use what the device of another one owns, or may no longer.
void change_peers(CUcontext owner, bool may) noexcept {
  CUdevice peer = -1, own = -1;
  if (guard_driver.device(&peer) != 0) return;
  {
    const WithContext with(owner);
    if (!with.ready() || guard_driver.device(&own) != 0) return;
  }
  GuardDevice* device = own != peer ? guard_device(own) : nullptr;
  if (device == nullptr || peer < 0 || peer >= kMostGuardDevices) return;
  const std::uint64_t bit = std::uint64_t{1} << peer;
  if (may) device->peers.fetch_or(bit);
  else device->peers.fetch_and(~bit);
  change_access(nullptr, own, peer, may);
}

CUresult cuCtxEnablePeerAccess_here(CUcontext owner, unsigned flags) noexcept {
  const CUresult result = ROW(cuCtxEnablePeerAccess)(owner, flags);
  if (result == CUDA_SUCCESS && guard_is_on()) change_peers(owner, true);
  return result;
}
CUresult cuCtxDisablePeerAccess_here(CUcontext owner) noexcept {
  const CUresult result = ROW(cuCtxDisablePeerAccess)(owner);
  if (result == CUDA_SUCCESS && guard_is_on()) change_peers(owner, false);
  return result;
}

// ---- other processes: CUDA's own answer, and plain memory from then on

CUresult cuIpcGetMemHandle_here(CUipcMemHandle* handle, CUdeviceptr address) noexcept {
  const CUresult result = ROW(cuIpcGetMemHandle)(handle, address);
  GuardBlock block;
  if (result == CUDA_SUCCESS || !guard_is_on() || !find_guarded(address, &block)) return result;
  exclude_stack(block.stack);
  note_export(block);
  return result;
}

// ---- captures

template <std::uint16_t Row, bool PerThread, class... Args>
CUresult begins_capture(CUstream stream, Args... args) noexcept {
  // Known before it begins: another thread's allocation must not be cut in two by it.
  const CUstream known = PerThread ? of_thread(stream) : stream;
  const bool on = guard_is_on();
  if (on) capture_begins(known);
  const CUresult result = driver_row<CUresult(CUstream, Args...)>(Row)(stream, args...);
  if (on && result != CUDA_SUCCESS) capture_ends(known);
  return result;
}
template <std::uint16_t Row, bool PerThread>
CUresult ends_capture(CUstream stream, CUgraph* graph) noexcept {
  const CUresult result = driver_row<CUresult(CUstream, CUgraph*)>(Row)(stream, graph);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUstream known = PerThread ? of_thread(stream) : stream;
  if (guard_is_on() && guard_driver.is_capturing(known, &status) == 0 &&
      status == CU_STREAM_CAPTURE_STATUS_NONE)
    capture_ends(known);
  return result;
}
template <std::uint16_t Row> CUresult ends_stream(CUstream stream) noexcept {
  const CUresult result = driver_row<CUresult(CUstream)>(Row)(stream);
  if (result == CUDA_SUCCESS && guard_is_on()) capture_ends(stream);
  return result;
}

using Dependencies = const CUgraphNode*;
using Edges = const CUgraphEdgeData*;

#define BEGINS(symbol, per_thread, ...)                                                            \
  AS(symbol, begins_capture<trace::kApi_##symbol, per_thread, __VA_ARGS__>)
#define ENDS(symbol, per_thread) AS(symbol, ends_capture<trace::kApi_##symbol, per_thread>)

} // namespace

void install_contexts(Install install) noexcept {
  AS(cuCtxDestroy, ends_context<trace::kApi_cuCtxDestroy>);
  AS(cuCtxDestroy_v2, ends_context<trace::kApi_cuCtxDestroy_v2>);
  AS(cuDevicePrimaryCtxRelease, ends_primary<trace::kApi_cuDevicePrimaryCtxRelease>);
  AS(cuDevicePrimaryCtxRelease_v2, ends_primary<trace::kApi_cuDevicePrimaryCtxRelease_v2>);
  AS(cuDevicePrimaryCtxReset, ends_primary<trace::kApi_cuDevicePrimaryCtxReset>);
  AS(cuDevicePrimaryCtxReset_v2, ends_primary<trace::kApi_cuDevicePrimaryCtxReset_v2>);
  HERE(cuMemPoolCreate);
  HERE(cuMemPoolImportFromShareableHandle);
  HERE(cuMemPoolDestroy);
  HERE(cuMemPoolSetAccess);
  HERE(cuMemPoolSetAttribute);
  HERE(cuCtxEnablePeerAccess);
  HERE(cuCtxDisablePeerAccess);
  HERE(cuIpcGetMemHandle);
  AS(cuStreamBeginCapture, begins_capture<trace::kApi_cuStreamBeginCapture, false>);
  BEGINS(cuStreamBeginCapture_v2, false, CUstreamCaptureMode);
  AS(cuStreamBeginCapture_ptsz, begins_capture<trace::kApi_cuStreamBeginCapture_ptsz, true>);
  BEGINS(cuStreamBeginCapture_v2_ptsz, true, CUstreamCaptureMode);
  BEGINS(cuStreamBeginCaptureToGraph, false, CUgraph, Dependencies, Edges, std::size_t,
         CUstreamCaptureMode);
  BEGINS(cuStreamBeginCaptureToGraph_ptsz, true, CUgraph, Dependencies, Edges, std::size_t,
         CUstreamCaptureMode);
  ENDS(cuStreamEndCapture, false);
  ENDS(cuStreamEndCapture_ptsz, true);
  AS(cuStreamDestroy, ends_stream<trace::kApi_cuStreamDestroy>);
  AS(cuStreamDestroy_v2, ends_stream<trace::kApi_cuStreamDestroy_v2>);
}

} // namespace gmt::interposer
