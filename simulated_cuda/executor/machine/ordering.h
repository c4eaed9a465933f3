// SPDX-License-Identifier: Apache-2.0
// Which accesses of a block's threads happen before which others. The block's clock advances
// whenever threads synchronise, and an access has the clock at which it was done. For each pair of
// threads there is a clock up to which the one knows what the other did. Three of these stand for
// all pairs at once: Block::last_barrier, Warp::last_sync, and a row of clocks for each thread.
// Invariant: rows are used only where `is_partial`, that is, where since the last barrier of the
// whole block threads synchronised that are not a whole warp. Old rows need no clearing: their
// clocks lie before that barrier. Threads that met share one row, until one of them knows more.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace gmt::executor {

struct Block;
struct Warp;

class Ordering {
public:
  using Row = std::vector<std::uint32_t>; // a clock for each thread of the block
  struct Released {                       // by threads, for those who acquire it
    Row row;
    std::uint64_t joined = 0; // the state of the row that was joined last
  };
  struct Lanes {
    const Warp* warp;
    std::uint32_t mask;
  };
  // Words through which threads synchronise: 4 bytes each of shared memory from 0 on, those of
  // global memory from kGlobalWord down. Bytes of a word count as one, so that order is
  // overestimated.
  static constexpr std::uint64_t kGlobalWord = ~std::uint64_t{0};

  bool is_partial = false;
  bool has_fenced = false; // some thread has executed a fence since the last barrier of the block

  void start();          // another block begins
  void reset();          // all clocks begin again, and no access is known any more
  void barrier_of_all(); // everything before is ordered before everything after

  // The thread of `w` knows what `thread` did at `clock`.
  bool knows(const Warp& w, std::uint32_t lane, std::uint32_t thread, std::uint32_t clock) const;
  // The same of the threads of a warp but itself, or of all other warps: of all, or of any.
  template <bool kAll>
  bool knows_warp(const Warp& w, std::uint32_t lane, std::uint32_t warp, std::uint32_t clock) const;
  template <bool kAll>
  bool knows_others(const Warp& w, std::uint32_t lane, std::uint32_t clock) const;

  // The threads wait for each other. They also know what is in `arrived`, if it is not empty.
  void meet(Block& block, std::span<const Lanes> all, const Row& arrived);
  // What lanes know, and did, becomes known to those who acquire the row.
  void release(Block& block, const Lanes& lanes, Released& released);
  void acquire(Block& block, const Lanes& lanes, const Row& row);

  // A fence makes strong accesses before it acquire, and those behind it release; or one of these.
  void fence(Block& block, const Lanes& lanes, bool acquires, bool releases);
  bool has_fence(const Block& block, std::uint32_t thread) const; // since the barrier of the block
  void strong_store(const Block& block, const Lanes& lanes, std::uint64_t word);
  void strong_load(const Block& block, const Lanes& lanes, std::uint64_t word);

  // An mbarrier: what was released to its phase becomes what is acquired from it.
  void arrive(Block& block, const Lanes& lanes, std::uint64_t object);
  void complete(std::uint64_t object);
  void wait(Block& block, const Lanes& lanes, std::uint64_t object);

private:
  struct Phase {
    Released arriving;
    Row complete;
  };
  struct Shared { // what threads know
    Row row;
    std::uint64_t state = 0; // another number after each change
    std::uint32_t threads = 0;
    // Of the row's clocks, where least_state is its state
    mutable std::uint32_t least = 0;
    mutable std::uint64_t least_state = 0;
  };
  static constexpr std::uint32_t kNone = ~0u;

  const Shared* row_of(const Warp& w, std::uint32_t lane) const;
  std::uint32_t new_row(const Block& block, std::uint32_t like);
  void give(const Lanes& lanes, std::uint32_t row);
  std::uint32_t lanes_with(const Lanes& lanes, std::uint32_t row) const;
  std::uint32_t common_row(const Block& block, std::span<const Lanes> all);
  void add(const Block& block, const Warp& warp, std::uint32_t lane, std::uint32_t clock,
           Released& released);
  void acquire_loaded(Block& block, const Lanes& lanes);

  std::vector<Shared> shared_;
  std::vector<std::uint32_t> free_; // of shared_
  std::vector<std::uint32_t> rows_; // by thread: of shared_; kNone: it knows nothing more
  std::uint64_t states_ = 0;
  Row fences_; // by thread: the clock of its last one
  std::unordered_map<std::uint64_t, Released> words_;
  // By thread: words that it loaded, to be acquired at its next fence
  std::vector<std::vector<std::uint64_t>> loaded_;
  bool has_loaded_ = false;
  std::unordered_map<std::uint64_t, Phase> objects_;
};

} // namespace gmt::executor
