// SPDX-License-Identifier: Apache-2.0
// The threads that run a grid's blocks, and what they share while they do. A block belongs to the
// worker that started it, until it is done.
// Invariant: a worker writes what is its own, what is atomic here, and memory of the device.
#pragma once

#include "simulated_cuda/executor/machine/accesses.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/workers/block_order.h"
#include "simulated_cuda/executor/machine/workers/virtual_time.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace gmt::executor {

class GridRun;
class ReportSink;
class Stillness;

inline constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};

// Of a granule of shared memory: which warps stored the value that it has, all their threads at
// once, since it got the value. It holds for the entry of the table of races that it was made for.
struct SameValue {
  std::uint32_t entry = 0, warps = 0;
};

struct alignas(128) Worker {
  const Grid* grid = nullptr;
  GridRun* run = nullptr;
  ReportSink* checks = nullptr; // its own
  std::uint64_t instructions = 0, lane_instructions = 0;
  VirtualTime time;
  std::atomic<bool> waits_for_time{false}; // all that its warps did in the last round
  std::atomic<std::uint64_t> rounds{0};
  std::vector<std::uint64_t> executed; // by threads, of each of Program::features
  Location stood;                      // a thread of a block that was stopped
  // Of all its blocks with a mistake that would have stopped a GPU, the first, and its first error.
  std::uint64_t error_block = kNoBlock;
  std::uint32_t gpu_error = 0;
  std::atomic<std::uint64_t> oldest{kNoBlock}; // no block before it is in this worker's hands
  std::unordered_map<const std::uint64_t*, SameValue> same_values; // by entry
  // Of each check of tracked registers that found something: the loads that what it checks may come
  // from
  std::unordered_map<const Instruction*, std::set<const Instruction*>> traced;
  bool notes_lines = false; // it notes which lines of the tables of races it uses
  UsedLines used_lines;
  bool stores_as_one = false;     // all threads of the warp that stores, to one address
  Stillness* stillness = nullptr; // it watches what warps do; null: not now
  // The GridRun::moment() since which all its blocks have only repeated what they did.
  std::atomic<std::uint64_t> still_since{kWithoutBlocks};
  static constexpr std::uint64_t kWithoutBlocks = ~std::uint64_t{0}, kBusy = kWithoutBlocks - 1;
};

// Which blocks are done, and how the grid ends. A trap ends it at its block: those before it run
// on, so that the same blocks are reported on with any number of workers; those behind it stop.
class GridRun {
public:
  // Blocks are given out by clusters of `cluster_blocks`; `order` is that of clusters.
  GridRun(std::uint64_t clusters, std::uint64_t cluster_blocks, const BlockOrder& order,
          Worker* workers, std::size_t worker_count)
      : clusters_(clusters), cluster_blocks_(cluster_blocks), workers_(workers),
        worker_count_(worker_count), order_(order) {}

  // The first block of the next cluster, which is the worker's now; false if none is left.
  bool take(Worker& worker, std::uint64_t* block);
  bool has_blocks_left() const {
    const std::uint64_t next = next_.load(std::memory_order_relaxed);
    return next < clusters_ && order_.first_of_window(next) < end();
  }
  // Every block before this one is done and can end the grid no more.
  std::uint64_t done_before() const;

  void count_done() { done_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  void count_instructions(std::uint64_t more) {
    instructions_.fetch_add(more, std::memory_order_relaxed);
  }
  // Bytes of frames and local memory of all warps.
  void hold(std::uint64_t more) { held_bytes_.fetch_add(more, std::memory_order_relaxed); }
  std::uint64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t instructions() const { return instructions_.load(std::memory_order_relaxed); }

  // By a trap, an assert or an error like them. `why`: it is no mistake of the program.
  void end_at(std::uint64_t block, const std::string& why);
  bool has_ended() const { return last() != kNoBlock; }
  std::uint64_t last() const { return last_.load(std::memory_order_acquire); }

  // A GPU would have stopped: the launch may go on for a while.
  void note_fault() { has_fault_.store(true, std::memory_order_relaxed); }
  bool has_fault() const { return has_fault_.load(std::memory_order_relaxed); }
  void end_faulted(); // all workers stop where they are, by a mistake of the program
  bool is_faulted() const { return is_faulted_; } // when no worker runs any more

  // Another number each time that something has changed which other blocks may see, as far as
  // workers watch for it.
  std::uint64_t moment() const { return changes_.load() + done_.load(); }
  void changed() { changes_.fetch_add(1); }
  void polled() { has_polled_.store(true, std::memory_order_relaxed); } // memory of the device
  // Nothing will ever change again: all blocks have only repeated themselves since that moment.
  bool is_still(std::uint64_t since, bool others_may_write) const;
  // True once: several workers may see at the same time that the grid hangs.
  bool is_first_to_report_hang() { return !is_hang_reported_.exchange(true); }

  // Whether all blocks of the other workers only wait for a later time, and have done so for a
  // whole round that began after `since`, which rounds() gave.
  bool waits_for_time(const Worker& asks, const std::vector<std::uint64_t>& since) const;
  std::vector<std::uint64_t> rounds() const;
  LaunchTime& time() { return time_; }
  const LaunchTime& time() const { return time_; }

  void halt(const std::string& why); // all workers stop where they are
  bool is_halted() const { return halted_.load(std::memory_order_acquire); }

  std::string why() const; // it could not be done; empty if it could, or ended by an error
  std::size_t worker_count() const { return worker_count_; }

private:
  bool take_mixed(Worker& worker, std::uint64_t* block);
  std::uint64_t end() const { // of clusters
    const std::uint64_t behind = last() == kNoBlock ? kNoBlock : last() / cluster_blocks_ + 1;
    return behind < clusters_ ? behind : clusters_;
  }

  const std::uint64_t clusters_, cluster_blocks_;
  Worker* const workers_;
  const std::size_t worker_count_;
  alignas(128) std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> done_{0}, instructions_{0}, held_bytes_{0};
  alignas(128) std::atomic<std::uint64_t> last_{kNoBlock}; // kNoBlock: nothing has ended the grid
  std::atomic<bool> halted_{false}, has_fault_{false}, has_polled_{false}, is_hang_reported_{false};
  bool is_faulted_ = false;
  std::atomic<std::uint64_t> changes_{0};
  LaunchTime time_;
  std::mutex order_mutex_; // of a mixed order
  BlockOrder order_;
  mutable std::mutex mutex_; // of the texts
  std::string why_ended_, why_halted_;
};

// Ends the grid at the warp's block. `why`: what cannot be executed; empty: an error of the
// program.
const Instruction* end_grid(Warp& w, std::uint32_t error, const std::string& why = {});

} // namespace gmt::executor
