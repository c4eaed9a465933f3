// SPDX-License-Identifier: Apache-2.0
// The rules are those of the manual of CUDA's driver API.

#include "analyzer/heap/memory_kinds.h"

#include <algorithm>

#include "trace/cuda_constants.h"

namespace gmt {
namespace {

using trace::FreeFunction;
using trace::MemoryKind;

constexpr std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// The last row needs only its width, the last slice only its rows (cuda.h on CUDA_MEMCPY2D).
std::uint64_t extent_of(const Rows& rows) {
  if (rows.width == 0) return 0;
  const std::uint64_t before =
    saturating_add(saturating_mul(rows.depth - 1, rows.slice), rows.height - 1);
  const std::uint64_t pitch = rows.pitch == 0 ? rows.width : rows.pitch;
  return saturating_add(saturating_mul(before, pitch), rows.width);
}

} // namespace

std::string_view memory_noun(MemoryKind memory_kind) {
  switch (memory_kind) {
  case MemoryKind::kUnknown: return "memory";
  case MemoryKind::kDevice: return "device memory";
  case MemoryKind::kPitched: return "pitched device memory";
  case MemoryKind::kManaged: return "managed memory";
  case MemoryKind::kPinned: return "pinned host memory";
  case MemoryKind::kRegistered: return "registered host memory";
  case MemoryKind::kStreamOrdered: return "stream-ordered device memory";
  case MemoryKind::kArray: return "CUDA array memory";
  case MemoryKind::kMipmappedArray: return "mipmapped array memory";
  case MemoryKind::kVmmHandle: return "physical memory (VMM handle)";
  case MemoryKind::kVmmReservation: return "reserved address space (VMM)";
  case MemoryKind::kVmmMapping: return "mapped memory (VMM)";
  case MemoryKind::kIpc: return "another process's memory (IPC)";
  case MemoryKind::kPoolImport: return "imported pool memory";
  case MemoryKind::kExternal: return "mapped external memory";
  case MemoryKind::kGraph: return "graph memory";
  case MemoryKind::kModuleGlobal: return "static device memory";
  case MemoryKind::kGraphics: return "mapped graphics memory";
  case MemoryKind::kMulticast: return "multicast object memory";
  case MemoryKind::kSubAllocation: return "memory of a pool";
  case MemoryKind::kTensor: return "memory of tensors";
  case MemoryKind::kManagedVariable: return "static managed memory";
  }
  return "memory";
}

std::string_view right_release(MemoryKind memory_kind, bool runtime) {
  switch (memory_kind) {
  case MemoryKind::kUnknown:
  case MemoryKind::kDevice:
  case MemoryKind::kPitched:
  case MemoryKind::kManaged:
  case MemoryKind::kPoolImport:
  case MemoryKind::kExternal: return runtime ? "cudaFree" : "cuMemFree";
  case MemoryKind::kStreamOrdered:
  case MemoryKind::kGraph: return runtime ? "cudaFreeAsync" : "cuMemFreeAsync";
  case MemoryKind::kPinned: return runtime ? "cudaFreeHost" : "cuMemFreeHost";
  case MemoryKind::kRegistered: return runtime ? "cudaHostUnregister" : "cuMemHostUnregister";
  case MemoryKind::kArray: return runtime ? "cudaFreeArray" : "cuArrayDestroy";
  case MemoryKind::kMipmappedArray:
    return runtime ? "cudaFreeMipmappedArray" : "cuMipmappedArrayDestroy";
  case MemoryKind::kVmmHandle:
  case MemoryKind::kMulticast: return "cuMemRelease";
  case MemoryKind::kVmmReservation: return "cuMemAddressFree";
  case MemoryKind::kVmmMapping: return "cuMemUnmap";
  case MemoryKind::kIpc: return runtime ? "cudaIpcCloseMemHandle" : "cuIpcCloseMemHandle";
  case MemoryKind::kModuleGlobal:
  case MemoryKind::kManagedVariable:
    return runtime ? "nothing: it lives as long as its module" : "cuModuleUnload";
  case MemoryKind::kGraphics:
    return runtime ? "cudaGraphicsUnmapResources" : "cuGraphicsUnmapResources";
  case MemoryKind::kSubAllocation: return "the pool's own release function";
  case MemoryKind::kTensor: return "nothing: it goes with the tensor";
  }
  return "cuMemFree";
}

bool release_fits(FreeFunction function, MemoryKind memory_kind) {
  switch (function) {
  case FreeFunction::kMemFree:
    return memory_kind == MemoryKind::kDevice || memory_kind == MemoryKind::kPitched ||
           memory_kind == MemoryKind::kManaged || memory_kind == MemoryKind::kStreamOrdered ||
           memory_kind == MemoryKind::kPoolImport || memory_kind == MemoryKind::kGraph ||
           memory_kind == MemoryKind::kExternal;
  case FreeFunction::kMemFreeAsync: // classic device memory too, as measured
    return memory_kind == MemoryKind::kStreamOrdered || memory_kind == MemoryKind::kDevice ||
           memory_kind == MemoryKind::kPitched || memory_kind == MemoryKind::kPoolImport ||
           memory_kind == MemoryKind::kGraph;
  case FreeFunction::kMemFreeHost: return memory_kind == MemoryKind::kPinned;
  case FreeFunction::kHostUnregister: return memory_kind == MemoryKind::kRegistered;
  case FreeFunction::kArrayDestroy: return memory_kind == MemoryKind::kArray;
  case FreeFunction::kMipmappedArrayDestroy: return memory_kind == MemoryKind::kMipmappedArray;
  case FreeFunction::kMemRelease:
    return memory_kind == MemoryKind::kVmmHandle || memory_kind == MemoryKind::kMulticast;
  case FreeFunction::kAddressFree: return memory_kind == MemoryKind::kVmmReservation;
  case FreeFunction::kMemUnmap: return memory_kind == MemoryKind::kVmmMapping;
  case FreeFunction::kIpcClose: return memory_kind == MemoryKind::kIpc;
  case FreeFunction::kUnmapGraphics: return memory_kind == MemoryKind::kGraphics;
  case FreeFunction::kGraphFreeNode: return memory_kind == MemoryKind::kGraph;
  case FreeFunction::kRegionUnregister: return memory_kind == MemoryKind::kSubAllocation;
  case FreeFunction::kHostFree: return false;
  case FreeFunction::kUnknown: return true;
  }
  return true;
}

// Graphics resources end with the other API's object, and unmapping names the resource, not the
// address.
std::uint64_t Rows::count() const { return saturating_mul(height, depth); }

namespace {

Rows rows_at(std::uint64_t address, const event::SetShape& shape) {
  const std::uint64_t height = std::max<std::uint64_t>(shape.height, 1);
  return {.address = address,
          .pitch = shape.pitch,
          .width = shape.width,
          .height = height,
          .slice = height,
          .element = shape.element_bytes};
}

Rows rows_of_set(const event::Set& set) {
  return set.is_shaped ? rows_at(set.destination, *set.shape)
                       : Rows{.address = set.destination, .width = set.bytes};
}

Rows rows_of_use(const event::Use& use) {
  return use.is_shaped ? rows_at(use.address, use.shape->rows)
                       : Rows{.address = use.address, .width = use.bytes};
}

} // namespace

Rows rows_of(const Event& call, Verdict::Side side) {
  if (call.kind == EventKind::kUse) return rows_of_use(call.use());
  if (call.kind != EventKind::kCopy) return rows_of_set(call.set());
  const event::Copy& copy = call.copy();
  const bool source = side == Verdict::Side::kSource;
  Rows rows;
  rows.address = address_of(call, side);
  if (!copy.is_shaped) {
    rows.width = copy.bytes;
    return rows;
  }
  rows.pitch = source ? copy.shape->source_pitch : copy.shape->destination_pitch;
  rows.width = copy.shape->width;
  rows.height = std::max<std::uint64_t>(copy.shape->height, 1);
  rows.depth = std::max<std::uint64_t>(copy.shape->depth, 1);
  const std::uint64_t slice = source ? copy.shape->source_rows : copy.shape->destination_rows;
  rows.slice = slice != 0 ? slice : rows.height;
  return rows;
}

std::optional<Box> box_of(const Event& call, Verdict::Side side) {
  const event::Copy& copy = call.copy();
  const bool source = side == Verdict::Side::kSource;
  if (!copy.shape->has_offsets) return std::nullopt;
  return Box{.x = source ? copy.shape->source_x : copy.shape->destination_x,
             .y = source ? copy.shape->source_y : copy.shape->destination_y,
             .z = source ? copy.shape->source_z : copy.shape->destination_z,
             .width = copy.shape->width,
             .height = std::max<std::uint64_t>(copy.shape->height, 1),
             .depth = std::max<std::uint64_t>(copy.shape->depth, 1)};
}

std::optional<Event> work_of_node(const Event& e) {
  if (e.kind != EventKind::kUse) return std::nullopt;
  const event::Use& use = e.use();
  if (use.use != trace::UseClass::kGraphNode || !use.shape->has_node) return std::nullopt;
  Event work = e;
  if (use.shape->node_type == cuda::kNodeTypeSet) {
    work.kind = EventKind::kSet;
    work.say(event::Set{.destination = use.address,
                        .bytes = use.bytes,
                        .value = 0,
                        .stream = use.stream,
                        .shape = &use.shape->rows,
                        .is_shaped = true,
                        .is_async = false});
    return work;
  }
  if (use.shape->node_type != cuda::kNodeTypeCopy || !use.shape->has_copy) return std::nullopt;
  work.kind = EventKind::kCopy;
  work.say(use.shape->copy);
  return work;
}

std::uint64_t extent_of_rows(const Event& call, Verdict::Side side) {
  return extent_of(rows_of(call, side));
}

} // namespace gmt
