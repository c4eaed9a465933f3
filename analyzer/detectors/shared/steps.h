// SPDX-License-Identifier: Apache-2.0
// Which steps a program goes through: a range that begins again and again, of those the
// outermost, else the calls of a PyTorch optimizer's step(), else what most of its call stacks have
// in common, the number of times that they come back. Ranges are those of NVTX and of PyTorch's
// record_function.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/detectors/shared/optimizer_steps.h"
#include "analyzer/heap/nvtx_ranges.h"
#include "analyzer/model/event.h"

namespace gmt {

class Steps {
public:
  struct Found {
    std::uint64_t count = 0; // 0: the program has none
    double orders = 0;       // of each, on average
    std::string of;          // "range train"; empty: by the call stacks
  };

  explicit Steps(const ProcessFacts& facts) : optimizers_(facts) {}
  void on_call(const Event& e) {
    last_order_ = e.order;
    if (e.stack.value >= stacks_.size()) [[unlikely]]
      make_room(e.stack);
    stacks_[e.stack.value].add(e.order);
    const std::uint32_t optimizer = optimizers_.begins(e.thread, e.stack);
    if (optimizer != OptimizerSteps::kNone) [[unlikely]]
      on_optimizer(optimizer, e.order);
  }
  void on_range(const Event& e, const Ranges& ranges);
  std::uint64_t last_order() const { return last_order_; } // of a call that was counted
  Found find() const;

private:
  struct Stack { // or range, or optimizer
    std::uint64_t count = 0, first = 0, second = 0, last = 0;
    void add(std::uint64_t order) {
      if (++count == 1) first = order;
      if (count == 2) second = order;
      last = order;
    }
    // Without the first step, in which a program does what it does once.
    double orders() const {
      return static_cast<double>(last - second) / static_cast<double>(count - 2);
    }
  };
  static constexpr std::size_t kRangeDepths = 4; // ranges farther inside are parts of steps
  using RangesByName = std::unordered_map<std::string, Stack>;
  void make_room(StackId stack);
  void on_optimizer(std::uint32_t optimizer, std::uint64_t order);
  Found find_range() const;
  // Comes back all through the program: a short training before a long evaluation does not.
  bool is_all_through(const Stack& stack) const;

  std::vector<Stack> stacks_; // by StackId
  // By how many ranges are around them; the second by names whose digits are left out ("step 17")
  std::array<RangesByName, kRangeDepths> ranges_, numbered_ranges_;
  std::unordered_map<std::uint32_t, unsigned> open_ranges_; // by thread
  OptimizerSteps optimizers_;
  std::vector<Stack> optimizer_steps_; // by OptimizerSteps' number
  std::uint64_t last_order_ = 0;
};

} // namespace gmt
