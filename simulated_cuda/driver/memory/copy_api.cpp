// SPDX-License-Identifier: Apache-2.0
// The copy entry points. Each one only writes down which copy it is, as a CUDA_MEMCPY3D, and
// submits it. Called through driver_api.def with the lock held. Sync forms use stream 0, which
// _ptds turns into the thread's own. Invariant: the declared direction is kept in the memory types,
// because the answers to mistakes depend on it.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <cstddef>

namespace gmt::sim {
namespace {

constexpr auto kHost = CU_MEMORYTYPE_HOST;
constexpr auto kDevice = CU_MEMORYTYPE_DEVICE;
constexpr auto kUnified = CU_MEMORYTYPE_UNIFIED;

// Host and device addresses are the same number here; only the declared type says which it is.
void set_source(CUDA_MEMCPY3D& copy, CUmemorytype type, CUdeviceptr address) {
  copy.srcMemoryType = type;
  copy.srcHost = reinterpret_cast<const void*>(address);
  copy.srcDevice = address;
}

void set_destination(CUDA_MEMCPY3D& copy, CUmemorytype type, CUdeviceptr address) {
  copy.dstMemoryType = type;
  copy.dstHost = reinterpret_cast<void*>(address);
  copy.dstDevice = address;
}

void set_source(CUDA_MEMCPY3D& copy, CUarray array, std::size_t offset) {
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.srcXInBytes = offset;
}

void set_destination(CUDA_MEMCPY3D& copy, CUarray array, std::size_t offset) {
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.dstXInBytes = offset;
}

CUDA_MEMCPY3D row_of(std::size_t bytes) {
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = bytes;
  copy.Height = 1;
  copy.Depth = 1;
  return copy;
}

bool is_reached(CUmemorytype type, CUdeviceptr address, const Context* context) {
  if (context == nullptr || (type != kDevice && type != kUnified)) return true;
  const Block* block = state().blocks.containing(address);
  return block == nullptr || block->is_listed_for(context->device->ordinal);
}

CUresult submit_copy(CUstream stream, const CUDA_MEMCPY3D& copy, const Context* to,
                     const Context* from) {
  return is_copy_reached(copy, to, from) ? submit(stream, copy) : CUDA_ERROR_INVALID_VALUE;
}

CUresult submit_copy(CUstream stream, const CUDA_MEMCPY3D& copy) {
  const Context* current = this_thread().current();
  return submit_copy(stream, copy, current, current);
}

CUDA_MEMCPY3D linear_copy(CUmemorytype to, CUdeviceptr destination, CUmemorytype from,
                          CUdeviceptr source, std::size_t bytes) {
  CUDA_MEMCPY3D copy = row_of(bytes);
  set_source(copy, from, source);
  set_destination(copy, to, destination);
  return copy;
}

CUresult linear(CUmemorytype to, CUdeviceptr destination, CUmemorytype from, CUdeviceptr source,
                std::size_t bytes, CUstream stream) {
  return submit_copy(stream, linear_copy(to, destination, from, source, bytes));
}

CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUresult submit_2d(const CUDA_MEMCPY2D* c, CUstream stream) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Also for a single row, where a pitch means nothing.
  const auto too_wide = [&](CUmemorytype type, std::size_t pitch, std::size_t x) {
    return type != CU_MEMORYTYPE_ARRAY && pitch != 0 && pitch < x + c->WidthInBytes;
  };
  if (too_wide(c->srcMemoryType, c->srcPitch, c->srcXInBytes)) return CUDA_ERROR_INVALID_VALUE;
  if (too_wide(c->dstMemoryType, c->dstPitch, c->dstXInBytes)) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D copy{};
  copy.srcXInBytes = c->srcXInBytes;
  copy.srcY = c->srcY;
  copy.srcMemoryType = c->srcMemoryType;
  copy.srcHost = c->srcHost;
  copy.srcDevice = c->srcDevice;
  copy.srcArray = c->srcArray;
  copy.srcPitch = c->srcPitch;
  copy.dstXInBytes = c->dstXInBytes;
  copy.dstY = c->dstY;
  copy.dstMemoryType = c->dstMemoryType;
  copy.dstHost = c->dstHost;
  copy.dstDevice = c->dstDevice;
  copy.dstArray = c->dstArray;
  copy.dstPitch = c->dstPitch;
  copy.WidthInBytes = c->WidthInBytes;
  copy.Height = c->Height;
  copy.Depth = 1;
  return submit_copy(stream, copy);
}

CUresult submit_3d_peer(const CUDA_MEMCPY3D_PEER* c, CUstream stream) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Context* from = state().context(c->srcContext);
  const Context* to = state().context(c->dstContext);
  if (from == nullptr || to == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  // Same fields in the same order, except for the context handles that stand where CUDA_MEMCPY3D
  // has reserved words.
  static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER));
  CUDA_MEMCPY3D copy{};
  __builtin_memcpy(&copy, c, sizeof copy);
  copy.reserved0 = nullptr;
  copy.reserved1 = nullptr;
  return submit_copy(stream, copy, to, from);
}

CUresult submit_peer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
                     std::size_t bytes, CUstream stream) {
  const Context *owner = state().context(to), *source = state().context(from);
  if (owner == nullptr || source == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return submit_copy(stream, linear_copy(kDevice, dst, kDevice, src, bytes), owner, source);
}

// The device of one side of a copy; -1 for memory of the host, as it is mapped for all of them.
int device_of_side(CUmemorytype type, CUdeviceptr address, const void* host) {
  if (type == CU_MEMORYTYPE_HOST) return -1;
  if (type == CU_MEMORYTYPE_UNIFIED && address == 0) address = reinterpret_cast<CUdeviceptr>(host);
  const Block* block = state().blocks.containing(address);
  return block == nullptr || block->device == nullptr || block->kind == BlockKind::kPinned ||
             block->kind == BlockKind::kRegistered
           ? -1
           : block->device->ordinal;
}

} // namespace

bool is_copy_reached(const CUDA_MEMCPY3D& copy, const Context* to, const Context* from) {
  const bool is_empty = copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0;
  return is_empty || (is_reached(copy.dstMemoryType, copy.dstDevice, to) &&
                      is_reached(copy.srcMemoryType, copy.srcDevice, from));
}

bool keeps_devices(const CUDA_MEMCPY3D& now, const CUDA_MEMCPY3D& then) {
  const auto from = [](const CUDA_MEMCPY3D& c) {
    return device_of_side(c.srcMemoryType, c.srcDevice, c.srcHost);
  };
  const auto to = [](const CUDA_MEMCPY3D& c) {
    return device_of_side(c.dstMemoryType, c.dstDevice, c.dstHost);
  };
  return from(now) == from(then) && to(now) == to(then);
}

CUresult memcpy_any(CUdeviceptr d, CUdeviceptr s, std::size_t n) {
  return linear(kUnified, d, kUnified, s, n, nullptr);
}
CUresult memcpy_any_async(CUdeviceptr d, CUdeviceptr s, std::size_t n, CUstream q) {
  return linear(kUnified, d, kUnified, s, n, q);
}
CUresult memcpy_htod(CUdeviceptr d, const void* s, std::size_t n) {
  return linear(kDevice, d, kHost, address_of(s), n, nullptr);
}
CUresult memcpy_dtoh(void* d, CUdeviceptr s, std::size_t n) {
  return linear(kHost, address_of(d), kDevice, s, n, nullptr);
}
CUresult memcpy_dtod(CUdeviceptr d, CUdeviceptr s, std::size_t n) {
  return linear(kDevice, d, kDevice, s, n, nullptr);
}
CUresult memcpy_htod_async(CUdeviceptr d, const void* s, std::size_t n, CUstream q) {
  return linear(kDevice, d, kHost, address_of(s), n, q);
}
CUresult memcpy_dtoh_async(void* d, CUdeviceptr s, std::size_t n, CUstream q) {
  return linear(kHost, address_of(d), kDevice, s, n, q);
}
CUresult memcpy_dtod_async(CUdeviceptr d, CUdeviceptr s, std::size_t n, CUstream q) {
  return linear(kDevice, d, kDevice, s, n, q);
}

CUresult memcpy_dtoa(CUarray array, std::size_t offset, CUdeviceptr source, std::size_t bytes) {
  CUDA_MEMCPY3D copy = row_of(bytes);
  set_source(copy, kDevice, source);
  set_destination(copy, array, offset);
  return submit_copy(nullptr, copy);
}

CUresult memcpy_atod(CUdeviceptr destination, CUarray array, std::size_t offset,
                     std::size_t bytes) {
  CUDA_MEMCPY3D copy = row_of(bytes);
  set_source(copy, array, offset);
  set_destination(copy, kDevice, destination);
  return submit_copy(nullptr, copy);
}

CUresult memcpy_htoa_async(CUarray array, std::size_t offset, const void* source, std::size_t bytes,
                           CUstream stream) {
  CUDA_MEMCPY3D copy = row_of(bytes);
  set_source(copy, kHost, address_of(source));
  set_destination(copy, array, offset);
  return submit_copy(stream, copy);
}

CUresult memcpy_atoh_async(void* destination, CUarray array, std::size_t offset, std::size_t bytes,
                           CUstream stream) {
  CUDA_MEMCPY3D copy = row_of(bytes);
  set_source(copy, array, offset);
  set_destination(copy, kHost, address_of(destination));
  return submit_copy(stream, copy);
}

CUresult memcpy_htoa(CUarray array, std::size_t offset, const void* source, std::size_t bytes) {
  return memcpy_htoa_async(array, offset, source, bytes, nullptr);
}

CUresult memcpy_atoh(void* destination, CUarray array, std::size_t offset, std::size_t bytes) {
  return memcpy_atoh_async(destination, array, offset, bytes, nullptr);
}

CUresult memcpy_atoa(CUarray to, std::size_t to_offset, CUarray from, std::size_t from_offset,
                     std::size_t bytes) {
  CUDA_MEMCPY3D copy = row_of(bytes);
  set_source(copy, from, from_offset);
  set_destination(copy, to, to_offset);
  return submit_copy(nullptr, copy);
}

CUresult memcpy_2d(const CUDA_MEMCPY2D* copy) { return submit_2d(copy, nullptr); }
CUresult memcpy_2d_unaligned(const CUDA_MEMCPY2D* copy) { return submit_2d(copy, nullptr); }
CUresult memcpy_2d_async(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return submit_2d(copy, stream);
}

CUresult memcpy_3d_async(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : submit_copy(stream, *copy);
}
CUresult memcpy_3d(const CUDA_MEMCPY3D* copy) { return memcpy_3d_async(copy, nullptr); }

CUresult memcpy_3d_peer(const CUDA_MEMCPY3D_PEER* copy) { return submit_3d_peer(copy, nullptr); }
CUresult memcpy_3d_peer_async(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return submit_3d_peer(copy, stream);
}

CUresult memcpy_peer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
                     std::size_t bytes) {
  return submit_peer(dst, to, src, from, bytes, nullptr);
}
CUresult memcpy_peer_async(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
                           std::size_t bytes, CUstream q) {
  return submit_peer(dst, to, src, from, bytes, q);
}

} // namespace gmt::sim
