// SPDX-License-Identifier: Apache-2.0
// CUDA's rules about kinds of memory as plain functions: names, which release fits which allocation
// (CUDA driver API manual), what counts as device memory, which error codes end a context, how far a copy or set
// reaches. Used by the heap and by detectors.

#include <algorithm>

#include "analyzer/heap.h"

namespace gmt {
namespace {

using trace::Family;
using trace::FreeFunction;

constexpr std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// The last row needs only its width, the last slice only its rows (cuda.h on CUDA_MEMCPY2D).
std::uint64_t shape_extent(std::uint64_t pitch, std::uint64_t width, std::uint64_t height,
                           std::uint64_t depth, std::uint64_t rows_per_slice) {
  if (width == 0) return 0;
  height = std::max<std::uint64_t>(height, 1);
  depth = std::max<std::uint64_t>(depth, 1);
  if (pitch == 0) pitch = width;
  if (rows_per_slice == 0) rows_per_slice = height;
  const std::uint64_t rows = saturating_add(saturating_mul(depth - 1, rows_per_slice), height - 1);
  return saturating_add(saturating_mul(rows, pitch), width);
}

} // namespace

std::string_view family_noun(Family family) {
  switch (family) {
  case Family::kUnknown: return "memory";
  case Family::kDevice: return "device memory";
  case Family::kPitched: return "pitched device memory";
  case Family::kManaged: return "managed memory";
  case Family::kPinned: return "pinned host memory";
  case Family::kRegistered: return "registered host memory";
  case Family::kStreamOrdered: return "stream-ordered device memory";
  case Family::kArray: return "CUDA array memory";
  case Family::kMipmappedArray: return "mipmapped array memory";
  case Family::kVmmHandle: return "physical memory (VMM handle)";
  case Family::kVmmReservation: return "reserved address space (VMM)";
  case Family::kVmmMapping: return "mapped memory (VMM)";
  case Family::kIpc: return "another process's memory (IPC)";
  case Family::kPoolImport: return "imported pool memory";
  case Family::kExternal: return "mapped external memory";
  case Family::kGraph: return "graph memory";
  case Family::kModuleGlobal: return "static device memory";
  case Family::kGraphics: return "mapped graphics memory";
  case Family::kMulticast: return "multicast object memory";
  case Family::kSubAllocation: return "memory of a pool";
  }
  return "memory";
}

std::string_view right_release(Family family, bool runtime) {
  switch (family) {
  case Family::kUnknown:
  case Family::kDevice:
  case Family::kPitched:
  case Family::kManaged:
  case Family::kPoolImport:
  case Family::kExternal: return runtime ? "cudaFree" : "cuMemFree";
  case Family::kStreamOrdered:
  case Family::kGraph: return runtime ? "cudaFreeAsync" : "cuMemFreeAsync";
  case Family::kPinned: return runtime ? "cudaFreeHost" : "cuMemFreeHost";
  case Family::kRegistered: return runtime ? "cudaHostUnregister" : "cuMemHostUnregister";
  case Family::kArray: return runtime ? "cudaFreeArray" : "cuArrayDestroy";
  case Family::kMipmappedArray: return runtime ? "cudaFreeMipmappedArray" : "cuMipmappedArrayDestroy";
  case Family::kVmmHandle:
  case Family::kMulticast: return "cuMemRelease";
  case Family::kVmmReservation: return "cuMemAddressFree";
  case Family::kVmmMapping: return "cuMemUnmap";
  case Family::kIpc: return runtime ? "cudaIpcCloseMemHandle" : "cuIpcCloseMemHandle";
  case Family::kModuleGlobal: return runtime ? "nothing: it lives as long as its module" : "cuModuleUnload";
  case Family::kGraphics: return runtime ? "cudaGraphicsUnmapResources" : "cuGraphicsUnmapResources";
  case Family::kSubAllocation: return "the pool's own release function";
  }
  return "cuMemFree";
}

bool release_fits(FreeFunction function, Family family) {
  switch (function) {
  case FreeFunction::kMemFree:
    return family == Family::kDevice || family == Family::kPitched || family == Family::kManaged ||
           family == Family::kStreamOrdered || family == Family::kPoolImport || family == Family::kGraph ||
           family == Family::kExternal;
  case FreeFunction::kMemFreeAsync: // classic device memory too, as measured
    return family == Family::kStreamOrdered || family == Family::kDevice || family == Family::kPitched ||
           family == Family::kPoolImport || family == Family::kGraph;
  case FreeFunction::kMemFreeHost: return family == Family::kPinned;
  case FreeFunction::kHostUnregister: return family == Family::kRegistered;
  case FreeFunction::kArrayDestroy: return family == Family::kArray;
  case FreeFunction::kMipmappedArrayDestroy: return family == Family::kMipmappedArray;
  case FreeFunction::kMemRelease: return family == Family::kVmmHandle || family == Family::kMulticast;
  case FreeFunction::kAddressFree: return family == Family::kVmmReservation;
  case FreeFunction::kMemUnmap: return family == Family::kVmmMapping;
  case FreeFunction::kIpcClose: return family == Family::kIpc;
  case FreeFunction::kUnmapGraphics: return family == Family::kGraphics;
  case FreeFunction::kGraphFreeNode: return family == Family::kGraph;
  case FreeFunction::kRegionUnregister: return family == Family::kSubAllocation;
  case FreeFunction::kHostFree: return false;
  case FreeFunction::kUnknown: return true;
  }
  return true;
}

// Graphics resources end with the other API's object, and unmapping names the resource, not the address.
bool can_leak(Family family) { return family != Family::kModuleGlobal && family != Family::kGraphics; }

bool is_sticky(std::uint16_t result) {
  switch (result) {
  case 214: // uncorrectable ECC error
  case 220: // uncorrectable NVLink error
  case 226: // contained device exception
  case 700: // illegal address
  case 702: // launch timeout
  case 710: // device-side assert
  case 714:
  case 715:
  case 716:
  case 717:
  case 718:
  case 719:
  case 721:
  case 911: return true;
  default: return false;
  }
}

std::uint64_t copy_extent(const Event& copy, Judgement::Side side) {
  if (copy.payload.size() <= 4) return copy.p(2);
  const bool destination = side == Judgement::Side::kDestination;
  return shape_extent(copy.p(destination ? 4 : 5), copy.p(6), copy.p(7), copy.p(8),
                      copy.p(destination ? 9 : 10));
}

std::uint64_t set_extent(const Event& set) {
  if (set.payload.size() <= 4) return set.p(1);
  return shape_extent(set.p(4), set.p(5), set.p(6), 1, 0);
}

} // namespace gmt
