// SPDX-License-Identifier: Apache-2.0
// Which bytes of the heap of kernels are in a block. Functions that stand in the place of malloc
// and free write it on the device, and kReport asks it: the entries of the heap's memory are
// kHeapEntry. Shared with device code: C++17, and nothing of the rewriter's.
#pragma once

#include <cstdint>

namespace gmt::rewriter {

// A byte stands for each 16 bytes of addresses (a unit); blocks begin at multiples of 16. 0 says
// that nothing is known, and then everything is right.
inline constexpr std::uint64_t kUnitBytes = 16;
inline constexpr std::uint8_t kUnitCount = 31;    // these bits: so many bytes are a block's
inline constexpr std::uint8_t kBeginUnit = 0x20;  // a block begins here
inline constexpr std::uint8_t kPoisonUnit = 0x40; // in front of a block or behind one
inline constexpr std::uint8_t kFreedUnit = 0x80;  // the block was freed; the other bits stay

// Entries of the table are made kHeapEntry for so much at once: the device's caches hold them for
// neighbours, and entries that change while a kernel runs may be seen late.
inline constexpr std::uint64_t kRegionBytes = std::uint64_t{256} << 10;
inline constexpr std::uint64_t kUnitsOfRegion = kRegionBytes / kUnitBytes;
// Where a table's first unit may lie: a multiple of it.
inline constexpr std::uint64_t kHeapAlignment = std::uint64_t{2} << 20;

struct HeapTable {
  std::uint64_t units = 0, unit_count = 0; // where they lie; behind them a byte for each region
  // The address that the first unit stands for; 0: there was no block yet. The device sets it so
  // that the first block is in the middle.
  std::uint64_t first = 0;
  // Where the entries lie: as Placed has it, and how many addresses each of the two windows has.
  std::uint64_t table = 0, shift = 0, window_bytes = 0;
  std::uint32_t is_off = 0, unused = 0; // 1: nothing is known of any block
};
static_assert(sizeof(HeapTable) == 56);

// The variable of a module that has the address of a HeapTable; 0: none.
inline constexpr char kHeapVariable[] = "gpumemtrace_heap_table";

} // namespace gmt::rewriter
