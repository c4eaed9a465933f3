// SPDX-License-Identifier: Apache-2.0
// The memset entry points and the engine under them: every set is a CUDA_MEMSET_NODE_PARAMS.
// Called through driver_api.def, and by operation.cpp for graph nodes, with the lock held.
// Invariant: addresses and pitches of 16- and 32-bit sets are aligned to the element, as the real
// driver requires.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/streams/late_bytes.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <cstring>

namespace gmt::sim {
namespace {

bool is_empty(const CUDA_MEMSET_NODE_PARAMS& set) { return set.width == 0 || set.height == 0; }

// Where a copy needs no peer access to another device's memory, a set does (two H100, driver 580).
bool is_reached(CUdeviceptr address, const Stream* stream) {
  const Block* block = stream != nullptr ? state().blocks.containing(address) : nullptr;
  return block == nullptr || stream->context->may_use(*block);
}

CUresult submit_set(CUdeviceptr address, std::size_t pitch, unsigned value, unsigned element,
                    std::size_t width, std::size_t height, CUstream stream) {
  CUDA_MEMSET_NODE_PARAMS set{};
  set.dst = address;
  set.pitch = pitch;
  set.value = value;
  set.elementSize = element;
  set.width = width;
  set.height = height;
  if (!is_empty(set) && !is_reached(address, find_stream(stream))) return CUDA_ERROR_INVALID_VALUE;
  return submit(stream, set);
}

void fill_row(std::byte* row, const CUDA_MEMSET_NODE_PARAMS& set) {
  if (set.elementSize == 1) {
    std::memset(row, static_cast<int>(set.value), set.width);
    return;
  }
  for (std::size_t i = 0; i < set.width; ++i)
    std::memcpy(row + i * set.elementSize, &set.value, set.elementSize);
}

std::byte* resolve_set(const CUDA_MEMSET_NODE_PARAMS& set) {
  const std::size_t row = set.width * set.elementSize;
  const std::size_t extent = (set.height - 1) * set.pitch + row;
  if (std::byte* view = state().blocks.view(set.dst, extent); view != nullptr) return view;
  const Context* context = this_thread().current();
  const bool has_heap = context != nullptr && context->heap != nullptr;
  return has_heap ? context->heap->view(set.dst, extent) : nullptr;
}

} // namespace

CUresult check_set(const CUDA_MEMSET_NODE_PARAMS& set) {
  if (set.elementSize != 1 && set.elementSize != 2 && set.elementSize != 4)
    return CUDA_ERROR_INVALID_VALUE;
  if (is_empty(set)) return CUDA_SUCCESS;
  if (set.dst % set.elementSize != 0) return CUDA_ERROR_INVALID_VALUE;
  if (set.height > 1 &&
      (set.pitch % set.elementSize != 0 || set.pitch < set.width * set.elementSize))
    return CUDA_ERROR_INVALID_VALUE;
  return resolve_set(set) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

std::vector<CopyRow> set_rows(const CUDA_MEMSET_NODE_PARAMS& set) {
  std::vector<CopyRow> rows;
  if (is_empty(set)) return rows;
  const std::byte* start = resolve_set(set);
  for (std::size_t y = 0; y < set.height; ++y)
    rows.push_back({set.dst + y * set.pitch, start + y * set.pitch, set.width * set.elementSize});
  return rows;
}

CUresult do_set(const CUDA_MEMSET_NODE_PARAMS& set) {
  if (CUresult bad = check_set(set); bad != CUDA_SUCCESS || is_empty(set)) return bad;
  std::byte* start = resolve_set(set);
  for (std::size_t y = 0; y < set.height; ++y) {
    fill_row(start + y * set.pitch, set);
    state().memory.mark_initialized(set.dst + y * set.pitch, set.width * set.elementSize);
    device_wrote(set.dst + y * set.pitch, set.width * set.elementSize);
  }
  return CUDA_SUCCESS;
}

CUresult memset_d8(CUdeviceptr d, unsigned char v, std::size_t n) {
  return submit_set(d, 0, v, 1, n, 1, nullptr);
}
CUresult memset_d16(CUdeviceptr d, unsigned short v, std::size_t n) {
  return submit_set(d, 0, v, 2, n, 1, nullptr);
}
CUresult memset_d32(CUdeviceptr d, unsigned v, std::size_t n) {
  return submit_set(d, 0, v, 4, n, 1, nullptr);
}
CUresult memset_d8_async(CUdeviceptr d, unsigned char v, std::size_t n, CUstream q) {
  return submit_set(d, 0, v, 1, n, 1, q);
}
CUresult memset_d16_async(CUdeviceptr d, unsigned short v, std::size_t n, CUstream q) {
  return submit_set(d, 0, v, 2, n, 1, q);
}
CUresult memset_d32_async(CUdeviceptr d, unsigned v, std::size_t n, CUstream q) {
  return submit_set(d, 0, v, 4, n, 1, q);
}
CUresult memset_d2d8(CUdeviceptr d, std::size_t pitch, unsigned char v, std::size_t w,
                     std::size_t h) {
  return submit_set(d, pitch, v, 1, w, h, nullptr);
}
CUresult memset_d2d16(CUdeviceptr d, std::size_t pitch, unsigned short v, std::size_t w,
                      std::size_t h) {
  return submit_set(d, pitch, v, 2, w, h, nullptr);
}
CUresult memset_d2d32(CUdeviceptr d, std::size_t pitch, unsigned v, std::size_t w, std::size_t h) {
  return submit_set(d, pitch, v, 4, w, h, nullptr);
}
CUresult memset_d2d8_async(CUdeviceptr d, std::size_t pitch, unsigned char v, std::size_t w,
                           std::size_t h, CUstream q) {
  return submit_set(d, pitch, v, 1, w, h, q);
}
CUresult memset_d2d16_async(CUdeviceptr d, std::size_t pitch, unsigned short v, std::size_t w,
                            std::size_t h, CUstream q) {
  return submit_set(d, pitch, v, 2, w, h, q);
}
CUresult memset_d2d32_async(CUdeviceptr d, std::size_t pitch, unsigned v, std::size_t w,
                            std::size_t h, CUstream q) {
  return submit_set(d, pitch, v, 4, w, h, q);
}

} // namespace gmt::sim
