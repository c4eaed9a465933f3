// SPDX-License-Identifier: Apache-2.0
// When a PyTorch program went forward, backward and through its optimizer, by the Python frames of
// its calls and tensors: a module's forward() is called by torch/nn/modules/module.py, step() by
// torch/optim/optimizer.py. The autograd engine's own threads have no Python. A phase lasts from
// its first call to its last one before another begins.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/analysis/history/range_lanes.h"
#include "analyzer/detectors/process_facts.h"

namespace gmt {

class TorchPhases {
public:
  static constexpr std::size_t kMost = 2000; // that are shown: the longest
  // Of the ranges, which are of the whole process: beside those that have no thread
  static constexpr std::uint32_t kNoThread = RangeLanes::kProcess - 1;

  explicit TorchPhases(const ProcessFacts& facts) : facts_(facts) {}

  void follow(const Event& e, std::uint64_t now);
  // By begin
  std::vector<MemoryHistory::Range> take();

private:
  enum class Phase : std::uint8_t { kUnknown, kAny, kOther, kForward, kBackward, kOptimizer };

  Phase phase_of(StackId stack);
  Phase find(StackId stack);
  void end();

  const ProcessFacts& facts_;
  std::vector<Phase> of_stacks_; // by StackId
  Phase now_ = Phase::kOther;
  std::uint64_t begin_ = 0, last_ = 0;
  std::vector<MemoryHistory::Range> ended_;
  bool has_torch_ = false; // in Python
};

} // namespace gmt
