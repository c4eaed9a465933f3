// SPDX-License-Identifier: Apache-2.0
// Blocks that run at the same time and reach each other's shared memory. Each block is in one, most
// in one of their own. An address of another block's shared memory has its rank in the bits above
// the offset. A worker has all blocks of a cluster.
// Invariant: blocks are in the order of their ranks.
#pragma once

#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/warp.h"

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gmt::executor {

class Cluster {
public:
  // Of addresses: the rank and 1 stand above so many bits; 0 there means the own block.
  static constexpr std::uint32_t kRankShift = 24;

  explicit Cluster(std::vector<Block*> blocks); // they belong to it from now on
  void start();                                 // they begin anew

  std::size_t size() const { return blocks_.size(); }
  Block* of_rank(std::uint64_t rank) const { // null: there is none
    return rank < blocks_.size() ? blocks_[rank] : nullptr;
  }
  bool is_done() const;
  bool is_left_out() const; // one of them was stopped, and will not come to a barrier
  bool can_go_on() const;   // some thread of any block

  // barrier.cluster
  const Instruction* arrive(Warp& w, const Instruction* in);
  const Instruction* wait(Warp& w, const Instruction* in);
  void lanes_left(Block& block, const Warp& w, std::uint32_t lanes);

  // What all blocks have done is ordered before what they do from now on.
  void order_all();
  // A block loaded what another one stored by a strong access, which orders that one's work behind
  // a fence of it before what the reader does behind one of its own.
  void see_flag(const Block& storer, const Block& reader);
  void acquire(const Block& block); // it executes a fence
  // The thread used shared memory of another block, which may not end before it knows of that.
  void use(Block& target, const AccessFacts& facts);
  // A plain store of a block, behind which an atomic of the same block takes its entry of the table
  // of races: blocks that nothing orders behind the store race with it. `site`: its instruction.
  void hide_store(const std::uint64_t* entry, std::uint32_t site) { hidden_stores_[entry] = site; }
  std::uint32_t hidden_store(const std::uint64_t* entry, std::uint32_t otherwise) const {
    const auto found = hidden_stores_.find(entry);
    return found == hidden_stores_.end() ? otherwise : found->second;
  }
  // Another block arrives at the mbarrier, or copies for it: who waits for it knows of that.
  void note_object(const Block& target, std::uint64_t object);
  void waited(const Block& target, std::uint64_t object);

private:
  struct Use {
    std::uint32_t clock = 0; // of the target; 0: there was none
    AccessFacts facts;
  };
  std::uint32_t& phase_of(const Warp& w, std::uint32_t lane);
  void complete_if_all();

  std::vector<Block*> blocks_;
  std::vector<std::vector<std::uint32_t>> arrived_in_; // by block and thread: the phase, and 1
  std::uint32_t phase_ = 1, arrived_ = 0;
  std::vector<Use> uses_;                                     // by target
  std::vector<bool> has_seen_flag_;                           // by rank, since its last fence
  std::set<std::pair<std::uint32_t, std::uint64_t>> objects_; // rank and offset
  std::unordered_map<const std::uint64_t*, std::uint32_t> hidden_stores_;
};

} // namespace gmt::executor
