// SPDX-License-Identifier: Apache-2.0
// Control flow of one body: basic blocks, and where lanes that part at a branch meet again (the
// immediate post-dominator). Works for any graph, irreducible ones and endless loops too.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

// How control leaves a block.
enum class BlockEnd : std::uint8_t {
  kFallThrough,
  kBranch,      // bra without a guard
  kConditional, // @p bra
  kTable,       // brx.idx
  kLeave,       // ret, exit, trap, a call that never returns; the end of the body
  kMayLeave,    // the same with a guard
};

struct BasicBlock {
  std::uint32_t first = 0; // instructions [first, last)
  std::uint32_t last = 0;
  BlockEnd end = BlockEnd::kFallThrough;
  bool reachable = false;
  bool falls_off = false;                // a way from here leads behind the last instruction
  std::vector<std::uint32_t> successors; // blocks; those of a branch before the next block
  std::vector<std::uint32_t> predecessors;
  std::uint32_t reconverges_at = kNone; // block of the immediate post-dominator; kNone: the end
};

struct Flow {
  std::vector<BasicBlock> blocks;
  std::vector<std::uint32_t> block_of; // for each instruction
  // The first instruction of the block where lanes meet that part at the end of this one;
  // the number of instructions if they meet nowhere.
  std::uint32_t reconvergence(std::uint32_t block) const;
};

Flow flow_of(const Module& module, const Body& body);

} // namespace gmt::ptx
