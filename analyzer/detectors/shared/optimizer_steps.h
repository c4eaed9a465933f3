// SPDX-License-Identifier: Apache-2.0
// The steps of PyTorch's optimizers, by the line of the program that calls optimizer.step(): every
// optimizer's step() runs inside a function of torch/optim/optimizer.py, which stands on the stacks
// of its launches and allocations. A step begins where such a stack follows on one that lacks it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/detectors/process_facts.h"

namespace gmt {

class OptimizerSteps {
public:
  explicit OptimizerSteps(const ProcessFacts& facts) : facts_(facts) {}

  // Whose step begins with this call: a number from 0, or kNone.
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t begins(std::uint32_t thread, StackId stack) {
    const bool is_known = stack.value < of_stacks_.size() && of_stacks_[stack.value] == kNone;
    if (is_known && names_.empty()) return kNone; // most programs have no optimizer
    return find_begin(thread, stack);
  }
  // "optimizer.step at train.py:31"
  const std::string& name(std::uint32_t number) const { return names_[number]; }

private:
  std::uint32_t find_begin(std::uint32_t thread, StackId stack);
  std::uint32_t number_of(StackId stack);
  std::uint32_t find(StackId stack);

  static constexpr std::uint32_t kUnknown = kNone - 1;
  const ProcessFacts& facts_;
  std::vector<std::uint32_t> of_stacks_; // by StackId
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> numbers_;
  std::vector<std::string> names_;
  std::unordered_map<std::uint32_t, std::uint32_t> now_; // by thread
};

} // namespace gmt
