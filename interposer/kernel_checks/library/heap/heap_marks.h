// SPDX-License-Identifier: Apache-2.0
// Writes into a HeapTable, in kernels: what a block is, behind malloc, and that it was freed,
// before free.
//
// Invariants: a unit that a live block has is never made poison, in whatever order they are
// written. What is written for a block is there for all threads before its address is. Nothing here
// is inlined: a kernel keeps its registers.
#pragma once

#include <cstdint>

#include "rewriter/heap_table.h"

extern "C" __device__ std::uint64_t gpumemtrace_heap_table = 0;

namespace gmt::device {

using rewriter::HeapTable;
using Unit = volatile unsigned char;

// Four entries of memory of which nothing is known (kNoBlock), and four of the heap (kHeapEntry).
inline constexpr unsigned long long kUnknownEntries = 0x7fff7fff7fff7fff;
inline constexpr unsigned long long kHeapEntries = 0xfffdfffdfffdfffd;
inline constexpr unsigned kWholeUnit = 16;
inline constexpr std::uint64_t kEightWholeUnits = 0x1010101010101010;

__device__ __forceinline__ Unit* units_of(const HeapTable& heap) {
  return reinterpret_cast<Unit*>(heap.units);
}
__device__ __forceinline__ bool is_off(const HeapTable& heap) {
  return *const_cast<volatile const std::uint32_t*>(&heap.is_off) != 0;
}

// The heap is one piece of memory, and the units stand for more than twice as much.
__device__ __noinline__ inline std::uint64_t first_address(HeapTable& heap, std::uint64_t pointer) {
  const std::uint64_t known = *const_cast<volatile std::uint64_t*>(&heap.first);
  if (known != 0) return known;
  const std::uint64_t half = heap.unit_count / 2 * rewriter::kUnitBytes;
  const std::uint64_t aligned = pointer & ~(rewriter::kHeapAlignment - 1);
  const std::uint64_t first = aligned > half ? aligned - half : rewriter::kHeapAlignment;
  const std::uint64_t other =
    atomicCAS(reinterpret_cast<unsigned long long*>(&heap.first), 0ull, first);
  return other != 0 ? other : first;
}

// By an exchange of the word around it: another block's thread may write next to it.
__device__ __noinline__ inline void poison(HeapTable& heap, std::uint64_t index, bool was_freed) {
  auto* const word = reinterpret_cast<unsigned*>(heap.units + (index & ~std::uint64_t{3}));
  const unsigned shift = static_cast<unsigned>(index & 3) * 8;
  unsigned old = *const_cast<volatile unsigned*>(word);
#pragma unroll 1
  for (;;) {
    const unsigned state = old >> shift & 255;
    if (state != 0 && !(was_freed && (state & rewriter::kFreedUnit) != 0)) return;
    const unsigned wanted = (old & ~(255u << shift)) | static_cast<unsigned>(rewriter::kPoisonUnit)
                                                         << shift;
    const unsigned found = atomicCAS(word, old, wanted);
    if (found == old) return;
    old = found;
  }
}

__device__ __noinline__ inline void mark_region(HeapTable& heap, std::uint64_t first,
                                                std::uint64_t region) {
  Unit* const is_marked = units_of(heap) + heap.unit_count + region;
  if (*is_marked != 0) return;
  std::uint64_t address = first + region * rewriter::kRegionBytes;
  if (address >= heap.window_bytes) {
    if (address - heap.shift - heap.window_bytes >= heap.window_bytes) return;
    address -= heap.shift;
  }
  auto* const entries = reinterpret_cast<unsigned long long*>(heap.table + address / 512 * 2);
#pragma unroll 4
  for (unsigned i = 0; i < rewriter::kRegionBytes / 512 / 4; ++i)
    atomicCAS(entries + i, kUnknownEntries, kHeapEntries);
  *is_marked = 1;
}

__device__ __noinline__ inline void mark_units(HeapTable& heap, std::uint64_t from,
                                               std::uint64_t bytes, std::uint64_t units) {
  Unit* const at = units_of(heap) + from;
  const std::uint64_t full = bytes / rewriter::kUnitBytes;
#pragma unroll 1
  for (std::uint64_t i = 1; i < units;) {
    if (i + 8 <= full && (from + i) % 8 == 0) {
      *reinterpret_cast<volatile std::uint64_t*>(heap.units + from + i) = kEightWholeUnits;
      i += 8;
    } else {
      at[i] = i < full ? kWholeUnit : static_cast<unsigned>(bytes % rewriter::kUnitBytes);
      ++i;
    }
  }
  at[0] = rewriter::kBeginUnit | (full != 0 ? kWholeUnit : static_cast<unsigned>(bytes));
}

__device__ __noinline__ inline void mark_block(HeapTable& heap, std::uint64_t pointer,
                                               std::uint64_t bytes) {
  if (is_off(heap)) return;
  const std::uint64_t first = first_address(heap, pointer);
  if (pointer < first) { // units that it has may be marked as another block's that was freed
    if (bytes <= first - pointer) return;
    bytes -= first - pointer;
    pointer = first;
  }
  const std::uint64_t from = (pointer - first) / rewriter::kUnitBytes;
  if (from >= heap.unit_count) return;
  std::uint64_t units = (bytes + rewriter::kUnitBytes - 1) / rewriter::kUnitBytes;
  if (units == 0) units = 1;
  const std::uint64_t room = heap.unit_count - from;
  if (units > room) units = room;
  mark_units(heap, from, bytes, units);
  if (from != 0) poison(heap, from - 1, false);
  if (units < room) poison(heap, from + units, true);
  __threadfence();
  const std::uint64_t last = from + (units < room ? units : units - 1);
#pragma unroll 1
  for (std::uint64_t i = (from != 0 ? from - 1 : 0) / rewriter::kUnitsOfRegion;
       i <= last / rewriter::kUnitsOfRegion; ++i)
    mark_region(heap, first, i);
}

// An address that is no live block's begin changes nothing.
__device__ __noinline__ inline void unmark_block(HeapTable& heap, std::uint64_t pointer) {
  const std::uint64_t first = *const_cast<volatile std::uint64_t*>(&heap.first);
  const std::uint64_t from = (pointer - first) / rewriter::kUnitBytes;
  const bool is_outside = first == 0 || pointer < first || from >= heap.unit_count;
  if (is_outside || pointer % rewriter::kUnitBytes != 0 || is_off(heap)) return;
  constexpr unsigned kWhat = rewriter::kBeginUnit | rewriter::kPoisonUnit | rewriter::kFreedUnit;
  Unit* const units = units_of(heap);
  unsigned state = units[from];
  if ((state & kWhat) != rewriter::kBeginUnit) return;
  units[from] = state | rewriter::kFreedUnit;
#pragma unroll 1
  for (std::uint64_t i = from + 1; i < heap.unit_count;) {
    auto* const eight = reinterpret_cast<volatile std::uint64_t*>(heap.units + i);
    if (i % 8 == 0 && i + 8 <= heap.unit_count && *eight == kEightWholeUnits) {
      *eight = kEightWholeUnits * (rewriter::kFreedUnit / kWholeUnit) | kEightWholeUnits;
      i += 8;
      continue;
    }
    state = units[i];
    if (state == 0 || (state & kWhat) != 0) break;
    units[i] = state | rewriter::kFreedUnit;
    ++i;
  }
  __threadfence();
}

} // namespace gmt::device
