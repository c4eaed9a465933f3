// SPDX-License-Identifier: Apache-2.0
// Instruction::extra of loads and stores: whether PTX calls them strong, that is volatile, relaxed
// and so on (PTX ISA, "Memory Consistency Model"). Atomics are strong without it.
#pragma once

#include "simulated_cuda/executor/program/program.h"

#include <cstdint>

namespace gmt::executor {

inline constexpr std::uint32_t kStrongAccess = 1, kVolatileAccess = 2;
// A cache operator that goes past the first cache, as __ldcg() has it: flags are polled so.
inline constexpr std::uint32_t kUncachedAccess = 4;
// Of atomics and fences as well: the scope is the block, not the device or more.
inline constexpr std::uint32_t kBlockScope = 0x80;
inline constexpr std::uint32_t kClusterScope = 0x40; // the cluster, which may be one block
inline constexpr std::uint32_t kNarrowScope = kBlockScope | kClusterScope;

inline bool is_strong(const Program& program, const Instruction& in) {
  const Shape::Memory kind = program.shapes[in.form].memory;
  if (kind == Shape::Memory::kAtomic) return true;
  const bool moves = kind == Shape::Memory::kLoad || kind == Shape::Memory::kStore;
  return moves && (in.extra & kStrongAccess) != 0;
}

inline bool is_volatile(const Program& program, const Instruction& in) {
  return program.shapes[in.form].memory != Shape::Memory::kAtomic && is_strong(program, in) &&
         (in.extra & kVolatileAccess) != 0;
}

// Of asynchronous copies `extra` says something else.
inline bool is_uncached(const Program& program, const Instruction& in) {
  const Shape::Memory kind = program.shapes[in.form].memory;
  const bool moves = kind == Shape::Memory::kLoad || kind == Shape::Memory::kStore;
  return moves && (in.extra & kUncachedAccess) != 0;
}

} // namespace gmt::executor
