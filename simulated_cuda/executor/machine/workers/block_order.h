// SPDX-License-Identifier: Apache-2.0
// In which order blocks start: as they are numbered, or as a seed says. A seed mixes only blocks of
// one window, and windows follow each other. A worker may have as many blocks at a time as a window
// has. So a block that waits for an earlier one finds it started, or free to start. Blocks behind
// the first `mixed` ones start as they are numbered.
#pragma once

#include "simulated_cuda/executor/machine/random.h"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace gmt::executor {

class BlockOrder {
public:
  // Seed 0: as they are numbered.
  BlockOrder(std::uint64_t blocks, std::uint64_t seed, std::uint64_t window,
             std::uint64_t mixed = ~std::uint64_t{0})
      : end_(mixed < blocks ? mixed : blocks), seed_(seed), window_(window) {}

  bool is_mixed() const { return seed_ != 0 && window_ > 1; }

  // No block before this one starts as the index-th or later.
  std::uint64_t first_of_window(std::uint64_t index) const {
    return is_mixed() && index < end_ ? index / window_ * window_ : index;
  }

  // The index-th block. Quick where one index follows the other.
  std::uint64_t at(std::uint64_t index) {
    if (!is_mixed() || index >= end_) return index;
    const std::uint64_t first = first_of_window(index);
    if (mixed_.empty() || first != mixed_from_) mix(first);
    return mixed_[index - first];
  }

private:
  void mix(std::uint64_t first) {
    mixed_from_ = first;
    mixed_.resize(end_ - first < window_ ? end_ - first : window_);
    std::iota(mixed_.begin(), mixed_.end(), first);
    Random(seed_, first).shuffle(mixed_);
  }

  const std::uint64_t end_, seed_, window_; // end_: of those that are mixed
  std::uint64_t mixed_from_ = 0;
  std::vector<std::uint64_t> mixed_;
};

} // namespace gmt::executor
