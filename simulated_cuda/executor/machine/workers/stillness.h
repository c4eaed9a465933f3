// SPDX-License-Identifier: Apache-2.0
// Whether a grid hangs: no block can start, and each block of every worker has come back to a state
// in which it was before, while nothing was written that others see. A block whose turn began in
// the same state with the same memory does the same again, for ever. A worker watches for it where
// all of its blocks have spun for a while, for some rounds, ever more rarely.
// Invariants: what an instruction does is known, or counts as a change; so does a look at the time,
// unless it decides nothing but pauses (block_states.h), and a look at memory that the host may
// write. Stores and atomics that leave memory as it was are no change.
#pragma once

#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/workers/block_states.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace gmt::executor {

struct Worker;

class Stillness {
public:
  explicit Stillness(Worker& worker) : worker_(worker) {}

  void progress(); // a block was done
  // Each block had a turn, and spins. True if the grid hangs, which is reported. `may_add`: other
  // blocks may start beside them.
  bool after_round(const std::vector<std::unique_ptr<Block>>& blocks, bool may_add);
  void run_warp(Warp& w, const Instruction* in); // a turn, in which it is watched

private:
  enum class Effect : std::uint8_t { kNone, kLoad, kStore, kAtomic, kUnknown };
  struct Form {
    Effect effect = Effect::kUnknown;
    Space space = Space::kUnknown;
    bool is_narrow = false;   // its address has 32 bits
    bool is_special = false;  // it reads a special register
    bool names_space = false; // in Instruction::extra
  };
  struct Poll { // a load
    const Instruction* in = nullptr;
    const Code* code = nullptr;
    std::uint32_t lane = 0;
    Space space = Space::kUnknown;
    std::uint64_t address = 0;
  };
  struct Cell { // before a store
    const std::byte* at = nullptr;
    std::uint32_t bytes = 0;
    std::array<std::byte, 32> old;
  };
  static Form form_of(const Shape& shape);
  const std::vector<Form>& forms_of(const Program& program);
  void look(Warp& w, const Instruction* in, std::uint32_t lane, Space space, std::uint64_t address,
            bool is_first);
  void keep(Warp& w, Space space, std::uint64_t address);
  const Instruction* access(Warp& w, const Instruction* in, const Form& form);
  bool has_come_round(const Block& block, std::uint64_t round) const;
  void begin();
  void end();
  void forget();
  void report(const std::vector<std::unique_ptr<Block>>& blocks) const;

  static constexpr std::uint64_t kFirst = 64, kFewest = 16, kMost = 1024;

  Worker& worker_;
  BlockStates states_;
  std::uint64_t rounds_ = 0, next_ = kFirst;   // without watching, and after how many it watches
  std::uint64_t watched_ = 0, most_ = kFewest; // rounds
  std::uint64_t since_ = 0;                    // the moment of the states below
  std::map<std::uint64_t, std::map<BlockStates::State, std::uint64_t>> seen_; // in which round
  std::set<std::uint64_t> repeated_;                                          // blocks
  std::map<const Program*, std::vector<Form>> forms_;
  std::map<const Warp*, Poll> polls_;                                 // the last of each
  std::map<const Warp*, std::array<std::uint64_t, kLanes>> accessed_; // memory: the last round
  std::vector<std::uint32_t> in_loops_;                               // BlockStates::of()
  std::vector<Cell> cells_;
};

} // namespace gmt::executor
