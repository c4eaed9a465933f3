// SPDX-License-Identifier: Apache-2.0
// A hash of 128 bits stands for a block's state: registers, local memory and parameters of its
// warps, where their lanes stand, and the barriers. Shared and global memory are no part of it, as
// each change of them is seen. Of a thread in a loop in which the time decides nothing but pauses
// (ptx/flow/time_loops.h), those registers alone count that do not depend on the time and will be
// read. Such a thread may stand in the same place while it only waits for a later time. It has come
// back to what it did before if it has accessed memory in between.
#pragma once

#include "ptx/flow/time_loops.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/program/frame_layout.h"

#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gmt::executor {

class BlockStates {
public:
  using State = std::pair<std::uint64_t, std::uint64_t>;

  // `in_loops`: of each of its warps, the lanes that run in such loops.
  State of(const Block& block, std::vector<std::uint32_t>& in_loops);
  // Of an instruction that reads the time: nothing depends on it but pauses.
  bool ignores_time(const Warp& w, const Instruction* in);

private:
  class Hash;
  struct RegisterBytes {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0; // of a lane; 0: a bit
    auto operator<=>(const RegisterBytes&) const = default;
  };
  using Registers = std::vector<RegisterBytes>;
  struct Function {
    std::vector<ptx::TimeLoop> loops;
    std::vector<std::uint32_t> loop_of; // by instruction of the body; kNone: none of them
    // The rest is there if it has such loops.
    Slots slots;
    FrameLayout layout;
    Registers all;
    std::map<std::uint32_t, Registers> counted; // by instruction of the body
  };
  struct Standing {
    const Frame* frame = nullptr;
    const Instruction* at = nullptr;
    std::uint32_t lanes = 0;
    bool waits = false; // for other threads
  };

  Function& function_of(const Program& program, const Code& code);
  static std::uint32_t loop_at(const Function& function, const Instruction* at);
  static const Registers& counted_at(const Code& code, Function& function, std::uint32_t source);
  void add_fragment(Hash& hash, const Fragment& fragment);
  void add_registers(Hash& hash, const Warp& w, const Frame& frame);
  void add_warp(Hash& hash, const Warp& w);

  std::unordered_map<const Code*, Function> functions_;
  std::vector<Standing> standing_; // of the lanes of a warp
  std::uint32_t in_loops_ = 0;     // lanes of the warp
};

} // namespace gmt::executor
