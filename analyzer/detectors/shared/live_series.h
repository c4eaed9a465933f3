// SPDX-License-Identifier: Apache-2.0
// How much one call stack's blocks hold, seen at each of its allocations: at the same point of each
// step of a program that does the same in each. What rises for good shows in the minima of longer
// times; what a step takes and gives back does not. Time is the order of events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gmt {

class LiveSeries {
public:
  // How the minima rise behind the warm-up, if they rise all the time.
  struct Rise {
    double bytes = 0, blocks = 0; // per order
  };

  void on_allocated(std::uint64_t bytes, std::uint64_t order) {
    order = std::max(order, last_order_); // that of a damaged trace may be lower than the last one
    ++allocations_;
    ++blocks_;
    bytes_ += bytes;
    if (first_order_ == 0) first_order_ = order;
    last_order_ = order;
    bytes_then_ = bytes_;
    add_sample(order);
  }
  void on_freed(std::uint64_t bytes) {
    --blocks_;
    bytes_ -= bytes;
  }

  std::uint64_t allocations() const { return allocations_; }
  std::uint64_t blocks() const { return blocks_; }         // alive now
  std::uint64_t bytes_then() const { return bytes_then_; } // alive behind the last allocation
  std::uint64_t first_order() const { return first_order_; }
  std::uint64_t last_order() const { return last_order_; }
  // Nothing if they do not, or if too few allocations were seen.
  std::optional<Rise> rise() const;

private:
  struct Minimum {
    std::uint64_t order, bytes, blocks; // the first allocation's order
  };
  void add_sample(std::uint64_t order) {
    if (in_last_ == 0) {
      minima_.push_back({order, bytes_, blocks_});
    } else {
      Minimum& last = minima_.back();
      last.bytes = std::min(last.bytes, bytes_);
      last.blocks = std::min(last.blocks, blocks_);
    }
    if (++in_last_ >= stride_) end_minimum();
  }
  void end_minimum();

  static constexpr std::size_t kMost = 256; // then each two become one
  std::vector<Minimum> minima_;             // of `stride_` allocations each, the last of fewer
  std::uint64_t stride_ = 1, in_last_ = 0;
  std::uint64_t allocations_ = 0, bytes_ = 0, blocks_ = 0, bytes_then_ = 0;
  std::uint64_t first_order_ = 0, last_order_ = 0;
};

} // namespace gmt
