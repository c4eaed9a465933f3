// SPDX-License-Identifier: Apache-2.0
// Flags of records, and words that hold several numbers: how they are packed and unpacked. C++17,
// includes nothing of CUDA's.
#pragma once

#include <cstdint>

#include "vocabulary.h" // beside this file also where device_hooks installs both

#if defined(__CUDACC__) // nvcc lets kernels call only what says that they may
#define GMT_HOST_DEVICE __host__ __device__
#else
#define GMT_HOST_DEVICE
#endif

namespace gmt::trace {

// Flags common to all kinds; the low 12 bits belong to the kind.
inline constexpr std::uint16_t kCommonFlags = 0xf000;
// The call was made by the driver itself or inside another recorded call
inline constexpr std::uint16_t kFlagNested = 1u << 12;
inline constexpr std::uint16_t kFlagNoStack = 1u << 13; // the stack could not be captured here
// Written by a runtime row: no driver call followed
inline constexpr std::uint16_t kFlagRuntime = 1u << 15;

// kCopy: bits 0-1 destination Side, 2-3 source Side, 4 asynchronous, 8-11 cudaMemcpyKind + 1 as the
// runtime call declared it, 0 if no runtime call is known.
constexpr std::uint16_t copy_flags(Side destination, Side source, bool async) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(destination) |
                                    static_cast<unsigned>(source) << 2 | (async ? 16u : 0u));
}
constexpr Side destination_side(std::uint16_t flags) { return static_cast<Side>(flags & 3); }
constexpr Side source_side(std::uint16_t flags) { return static_cast<Side>(flags >> 2 & 3); }
inline constexpr std::uint16_t kCopyDeclaredKind = 0xf00; // the bits of the cudaMemcpyKind + 1
constexpr std::uint16_t declared_kind_flags(unsigned kind) {
  return kind < 15 ? static_cast<std::uint16_t>((kind + 1) << 8) : kCopyDeclaredKind;
}
constexpr unsigned declared_kind_plus_1(std::uint16_t flags) {
  return flags >> 8 & 15u;
} // 0: none was declared
inline constexpr std::uint16_t kCopyAsync = 16;
inline constexpr std::uint16_t kCopyBatched = 32; // one of several copies of one call (since 1.1)
inline constexpr std::uint16_t kSetAsync = 16;    // kSet, kFree: stream-ordered form
// kUse: the device reads there (since 1.1; neither flag: not known)
inline constexpr std::uint16_t kUseReads = 1;
inline constexpr std::uint16_t kUseWrites = 2; // kUse: the device writes there
// kUse: one side of a copy that the record before describes as a whole (since 1.5)
inline constexpr std::uint16_t kUseOfRecordedCopy = 4;
// kLaunch: its arguments are all that could be pointers (since 1.1)
inline constexpr std::uint16_t kLaunchScanned = 1;
// kLaunch: these arguments have the number that stands with the block's extents, until a later
// launch of the file has it (since 1.5)
inline constexpr std::uint16_t kLaunchKeepsArguments = 2;
// kLaunch: it has no arguments of its own, but those of the number, and their kLaunchScanned (since
// 1.5)
inline constexpr std::uint16_t kLaunchRepeatsArguments = 4;
inline constexpr unsigned kMostKeptArguments = 1024; // numbers, from 1
// kAlloc: --guard gave the block a mapping of its own, so a kernel that uses it behind its free
// faults (since 1.5)
inline constexpr std::uint16_t kAllocFenced = 1;

inline constexpr unsigned kNodeCopy = 11, kNodeCopyFlags = 28; // words of a kUse, see there

// A word of a kernel's parameter block with the number of its parameter (kNoParameter from there
// on). Addresses have at most 57 bits on every machine that CUDA runs on.
inline constexpr unsigned kArgumentShift = 57;
inline constexpr unsigned kNoParameter = 127;
constexpr std::uint64_t argument_word(std::uint64_t address, unsigned parameter) {
  return address | std::uint64_t{parameter < kNoParameter ? parameter : kNoParameter}
                     << kArgumentShift;
}
constexpr std::uint64_t argument_address(std::uint64_t word) {
  return word & ((std::uint64_t{1} << kArgumentShift) - 1);
}
constexpr unsigned argument_parameter(std::uint64_t word) {
  return static_cast<unsigned>(word >> kArgumentShift);
}

// A launch's grid: x:32 y:16 z:16 (low to high).
constexpr std::uint64_t pack_grid(Index3 grid) {
  return std::uint64_t{grid.x} | std::uint64_t{grid.y & 0xffffu} << 32 |
         std::uint64_t{grid.z & 0xffffu} << 48;
}
constexpr Index3 grid_of(std::uint64_t word) {
  return {static_cast<unsigned>(word), static_cast<unsigned>(word >> 32 & 0xffff),
          static_cast<unsigned>(word >> 48)};
}

// The extents of its blocks: x:16 y:16 z:16.
constexpr std::uint64_t pack_block_extents(Index3 block) {
  return std::uint64_t{block.x & 0xffffu} | std::uint64_t{block.y & 0xffffu} << 16 |
         std::uint64_t{block.z & 0xffffu} << 32;
}
constexpr Index3 block_extents_of(std::uint64_t word) {
  return {static_cast<unsigned>(word & 0xffff), static_cast<unsigned>(word >> 16 & 0xffff),
          static_cast<unsigned>(word >> 32 & 0xffff)};
}

// The number of a launch's arguments stands above the extents; 0 none.
inline constexpr unsigned kArgumentsNumberShift = 48;
constexpr std::uint64_t with_arguments_number(std::uint64_t extents, unsigned number) {
  return extents | std::uint64_t{number} << kArgumentsNumberShift;
}
constexpr unsigned arguments_number_of(std::uint64_t word) {
  return static_cast<unsigned>(word >> kArgumentsNumberShift);
}
constexpr std::uint64_t without_arguments_number(std::uint64_t word) {
  return word & ((std::uint64_t{1} << kArgumentsNumberShift) - 1);
}

// Two numbers in one word, low:32 high:32.
// In a kPythonStack instead of the code's number: here the interpreter was entered from C. The
// other half is the native frame of the evaluator that runs what stands before, from 1; 0 not
// known.
inline constexpr std::uint32_t kPythonEntry = 0xffffffff;

struct Halves {
  std::uint32_t low, high;
};
constexpr bool operator==(Halves a, Halves b) { return a.low == b.low && a.high == b.high; }
GMT_HOST_DEVICE constexpr std::uint64_t pack_halves(Halves halves) {
  return std::uint64_t{halves.low} | std::uint64_t{halves.high} << 32;
}
constexpr Halves halves_of(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
}

} // namespace gmt::trace
