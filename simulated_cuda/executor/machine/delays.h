// SPDX-License-Identifier: Apache-2.0
// Where warps of a launch's first blocks leave the processor to other blocks, so that what blocks
// do to each other is seen though each would be quick enough to end before the next one starts.
#pragma once

#include <cstdint>
#include <vector>

namespace gmt::executor {

struct Block;
struct Instruction;
struct Warp;

// Each block's own worker alone asks for that block.
class Delays {
public:
  void expect(std::uint64_t blocks); // of the launch, before the first starts

  // Whether the warp is to execute its fence in its next turn only: what others do first, they do
  // without knowing what the fence lets them know. So a wait that is too short, or for too little,
  // shows where blocks would otherwise run one after the other.
  bool before_fence(const Warp& w);
  // Whether the warp is to leave the rest of its turn to others behind an atomic that gave it a
  // value, as it did before: a block that takes one piece of work after the other would otherwise
  // do all of it, and no other block would use what it left.
  bool behind_atomic(const Warp& w, const Instruction* in);
  // Whether others are to start beside the block.
  bool wants_others(const Block& block);

private:
  struct Site { // of an atomic, and the warps that have been there
    const Instruction* in = nullptr;
    std::uint32_t warps = 0;
  };
  struct Delay {
    std::uint32_t warps = 0;               // bits of those that wait with their fences
    bool has_left = false;                 // some warp, behind an atomic
    std::uint32_t fences = 0, atomics = 0; // how many more of them
    std::vector<Site> sites;
  };
  std::vector<Delay> blocks_; // the first ones
};

} // namespace gmt::executor
