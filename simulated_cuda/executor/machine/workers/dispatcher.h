// SPDX-License-Identifier: Apache-2.0
// What one worker does: it runs blocks, each until it is done or spins. A block that spins lets the
// worker's others have a turn, and a new one start. So a block that waits for an earlier one finds
// it done or gets it a turn: the earlier one is in the hands of a worker.
#pragma once

#include "simulated_cuda/executor/machine/cluster.h"
#include "simulated_cuda/executor/machine/workers/stillness.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace gmt::executor {

class Dispatcher {
public:
  struct Rules {
    std::uint64_t most = 1;           // blocks that it may have at a time
    std::size_t cluster_blocks = 1;   // of each cluster, which start together
    bool fill_gpu = false;            // as many as a GPU has room for, of all workers
    bool starts_all = false;          // as blocks of a cooperative grid wait for each other
    bool counts_instructions = false; // for their limit
    bool keeps_real_time = false;     // as others may write memory of the device
  };
  // `after_turn` may be empty.
  Dispatcher(Worker& worker, const Rules& rules, std::function<void()> after_turn)
      : worker_(worker), run_(*worker.run), rules_(rules), after_turn_(std::move(after_turn)),
        stillness_(worker) {}

  void run(); // until no block is left, or the grid is over

private:
  bool add_block();
  bool may_add_block() const;    // or a GPU may have room for more
  bool start(std::size_t first); // the blocks of a cluster, from this one on
  void run_block(Block& block);
  void finish(Block& block);
  void take_turns();
  void pass_time();
  void after_fault(Block& block, std::uint64_t instructions);
  void note_error(const Block& block);
  void say_oldest();

  Worker& worker_;
  GridRun& run_;
  const Rules rules_;
  const std::function<void()> after_turn_;
  Stillness stillness_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool only_waited_ = false;          // the last round
  std::vector<std::uint64_t> rounds_; // of all workers, when it began to do nothing else
  std::uint64_t counted_ = 0, finished_ = 0;
  std::uint64_t spins_ = 0;                    // since a block was added
  bool wants_others_ = false;                  // a block waits with what it lets others know
  std::uint64_t late_spins_ = 0;               // since the grid has ended
  std::vector<std::unique_ptr<Block>> blocks_; // those of a cluster one after the other
  std::vector<std::unique_ptr<Cluster>> clusters_;
};

} // namespace gmt::executor
