// SPDX-License-Identifier: Apache-2.0
// The copy engine: every copy is a CUDA_MEMCPY3D; this file checks one and moves its bytes.
// Lock held.
// Answers as measured on the real driver: any byte outside the requested size 1; device source
// where HOST is declared 0 (it copies), as is a device destination; host memory where DEVICE is
// declared 1; overlap 0.
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/execution/prints.h"
#include "simulated_cuda/driver/execution/unwritten_copy.h"
#include "simulated_cuda/driver/memory/array_formats.h"
#include "simulated_cuda/driver/streams/late_bytes.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <cstdint>
#include <cstring>

namespace gmt::sim {
namespace {

struct Side {
  CUmemorytype type;
  CUdeviceptr address;
  CUarray array;
  std::size_t x, y, z, pitch, height;
};

// A side made ready for copying: where its first byte is and how far apart its rows and slices are.
struct Rows {
  std::byte* start = nullptr;
  std::size_t pitch = 0;
  std::size_t slice = 0;
  CUdeviceptr address = 0; // of linear memory, as kernels name it; 0: an array's
};

Side source_of(const CUDA_MEMCPY3D& c) {
  const auto address =
    c.srcMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<CUdeviceptr>(c.srcHost) : c.srcDevice;
  return {c.srcMemoryType, address, c.srcArray, c.srcXInBytes,
          c.srcY,          c.srcZ,  c.srcPitch, c.srcHeight};
}

Side destination_of(const CUDA_MEMCPY3D& c) {
  const auto address =
    c.dstMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<CUdeviceptr>(c.dstHost) : c.dstDevice;
  return {c.dstMemoryType, address, c.dstArray, c.dstXInBytes,
          c.dstY,          c.dstZ,  c.dstPitch, c.dstHeight};
}

CUresult resolve_array(const Side& side, const CUDA_MEMCPY3D& copy, Rows* rows) {
  const Array* array = state().arrays.get(side.array);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (array->memory == 0 || !array->planes.empty())
    return not_simulated("sparse arrays, and arrays of planes as a whole");
  const StoredExtent stored = stored_extent(array->desc);
  const std::size_t width = stored.width * array->element, height = stored.height,
                    depth = stored.depth;
  if (side.x % array->element != 0 || copy.WidthInBytes % array->element != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const bool fits = side.x <= width && copy.WidthInBytes <= width - side.x && side.y <= height &&
                    copy.Height <= height - side.y && side.z <= depth &&
                    copy.Depth <= depth - side.z;
  if (!fits) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t slice = width * height;
  const std::size_t offset = side.z * slice + side.y * width + side.x;
  auto* memory = reinterpret_cast<std::byte*>(static_cast<std::intptr_t>(array->memory) +
                                              array->context->device->to_host());
  *rows = {memory + offset, width, slice, 0};
  return CUDA_SUCCESS;
}

// True where the declared memory type refuses what lies at the address: DEVICE is checked, HOST is
// not.
bool is_wrong_memory(const Side& side, const Block* block) {
  return side.type == CU_MEMORYTYPE_DEVICE && block == nullptr;
}

CUresult resolve_linear(const Side& side, const CUDA_MEMCPY3D& copy, Rows* rows) {
  const std::size_t pitch = side.pitch == 0 ? side.x + copy.WidthInBytes : side.pitch;
  const std::size_t height = side.height == 0 ? side.y + copy.Height : side.height;
  const bool many_rows = copy.Height > 1 || copy.Depth > 1 || side.y != 0 || side.z != 0;
  if (many_rows && pitch < side.x + copy.WidthInBytes) return CUDA_ERROR_INVALID_VALUE;
  if (copy.Depth > 1 && height < side.y + copy.Height) return CUDA_ERROR_INVALID_VALUE;
  if (side.address == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t slice = pitch * height;
  const CUdeviceptr first = side.address + side.z * slice + side.y * pitch + side.x;
  const std::size_t extent =
    (copy.Depth - 1) * slice + (copy.Height - 1) * pitch + copy.WidthInBytes;
  const Block* block = state().blocks.containing(first);
  if (is_wrong_memory(side, block)) return CUDA_ERROR_INVALID_VALUE;
  *rows = {reinterpret_cast<std::byte*>(first), pitch, slice, first};
  if (block == nullptr) return CUDA_SUCCESS; // pageable host memory
  // Registered memory is part of a larger host buffer: a host-side range may go on past the
  // registration.
  if (block->kind == BlockKind::kRegistered && side.type == CU_MEMORYTYPE_HOST) return CUDA_SUCCESS;
  rows->start = state().blocks.view(first, extent);
  return rows->start == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult resolve(const Side& side, const CUDA_MEMCPY3D& copy, Rows* rows) {
  switch (side.type) {
  case CU_MEMORYTYPE_HOST:
  case CU_MEMORYTYPE_DEVICE:
  case CU_MEMORYTYPE_UNIFIED: return resolve_linear(side, copy, rows);
  case CU_MEMORYTYPE_ARRAY: return resolve_array(side, copy, rows);
  default: return CUDA_ERROR_INVALID_VALUE;
  }
}

bool is_empty(const CUDA_MEMCPY3D& copy) {
  return copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0;
}

CUresult resolve_both(const CUDA_MEMCPY3D& copy, Rows* source, Rows* destination) {
  if (copy.srcLOD != 0 || copy.dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = resolve(source_of(copy), copy, source); bad != CUDA_SUCCESS) return bad;
  return resolve(destination_of(copy), copy, destination);
}

// Bytes keep their state: a copy of what nothing has written is still unwritten.
void copy_row_state(const Rows& to, const Rows& from, std::size_t to_offset,
                    std::size_t from_offset, std::size_t bytes) {
  executor::Memory& memory = state().memory;
  if (to.address == 0 || is_host_memory(to.address)) return; // which counts as written
  const bool known = from.address != 0 && memory.region_of(from.address + from_offset) != nullptr;
  if (known) memory.copy_state(to.address + to_offset, from.address + from_offset, bytes);
  else memory.mark_initialized(to.address + to_offset, bytes);
}

// Before it is done.
void look_for_unwritten(const CUDA_MEMCPY3D& copy, const Rows& from, const Rows& to) {
  if (from.address == 0 || is_host_memory(from.address)) return;
  executor::UnwrittenBytes bytes(state().memory);
  for (std::size_t z = 0; z < copy.Depth; ++z) {
    for (std::size_t y = 0; y < copy.Height; ++y)
      bytes.add_row(from.address + z * from.slice + y * from.pitch, copy.WidthInBytes);
  }
  // An array is memory of the device
  report_unwritten(bytes, from.address, to.address != 0 && is_host_memory(to.address));
}

} // namespace

CUresult check_copy(const CUDA_MEMCPY3D& copy) {
  Rows source, destination;
  return is_empty(copy) ? CUDA_SUCCESS : resolve_both(copy, &source, &destination);
}

// A GPU is done with pageable memory when the call returns, or has a copy of it.
bool uses_pageable_memory(const CUDA_MEMCPY3D& copy) {
  Rows source, destination;
  if (is_empty(copy) || resolve_both(copy, &source, &destination) != CUDA_SUCCESS) return false;
  const auto is_pageable = [&](const Rows& rows) {
    const std::size_t extent =
      (copy.Depth - 1) * rows.slice + (copy.Height - 1) * rows.pitch + copy.WidthInBytes;
    return rows.address != 0 && state().blocks.view(rows.address, extent) == nullptr;
  };
  return is_pageable(source) || is_pageable(destination);
}

namespace {

std::vector<CopyRow> copy_rows(const CUDA_MEMCPY3D& copy, bool of_source) {
  Rows source, destination;
  if (is_empty(copy) || resolve_both(copy, &source, &destination) != CUDA_SUCCESS) return {};
  const Rows& rows = of_source ? source : destination;
  if (rows.address == 0) return {};
  std::vector<CopyRow> all;
  for (std::size_t z = 0; z < copy.Depth; ++z) {
    for (std::size_t y = 0; y < copy.Height; ++y) {
      const std::size_t at = z * rows.slice + y * rows.pitch;
      all.push_back({rows.address + at, rows.start + at, copy.WidthInBytes});
    }
  }
  return all;
}

} // namespace

std::vector<CopyRow> source_rows(const CUDA_MEMCPY3D& copy) { return copy_rows(copy, true); }
std::vector<CopyRow> destination_rows(const CUDA_MEMCPY3D& copy) { return copy_rows(copy, false); }

CUresult do_copy(const CUDA_MEMCPY3D& copy) {
  if (is_empty(copy)) return CUDA_SUCCESS;
  Rows source, destination;
  if (CUresult bad = resolve_both(copy, &source, &destination); bad != CUDA_SUCCESS) return bad;
  flush_prints();
  look_for_unwritten(copy, source, destination);
  for (std::size_t z = 0; z < copy.Depth; ++z) {
    for (std::size_t y = 0; y < copy.Height; ++y) {
      const std::size_t to = z * destination.slice + y * destination.pitch;
      const std::size_t from = z * source.slice + y * source.pitch;
      std::memmove(destination.start + to, source.start + from, copy.WidthInBytes);
      copy_row_state(destination, source, to, from, copy.WidthInBytes);
      if (destination.address != 0) device_wrote(destination.address + to, copy.WidthInBytes);
    }
  }
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
