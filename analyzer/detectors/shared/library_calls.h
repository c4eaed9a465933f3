// SPDX-License-Identifier: Apache-2.0
// Whether a known library or framework made a call, by its stack. What it passes to its kernels
// need not be what the user gave it.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/detectors/process_facts.h"

namespace gmt {

class LibraryCalls {
public:
  explicit LibraryCalls(const ProcessFacts& facts) : facts_(facts) {}

  // Asked for many launches: a stack is looked at once.
  bool contain(StackId stack) {
    const auto [at, is_new] = known_.try_emplace(stack.value, false);
    if (is_new) at->second = !facts_.caller(stack).owner.empty();
    return at->second;
  }

private:
  const ProcessFacts& facts_;
  std::unordered_map<std::uint32_t, bool> known_; // by call stack
};

} // namespace gmt
