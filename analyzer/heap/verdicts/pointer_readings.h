// SPDX-License-Identifier: Apache-2.0
// What else a kernel's pointer into freed memory may mean. Blocks lie side by side, so one past the
// end of a block is the base of the next one, and one element before a block lies in the one before
// it.
//
// Where a kernel was ever given the end of another argument's block in a parameter, and nothing lay
// behind that block, what lies behind it elsewhere is not meant.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "analyzer/heap/user_pools.h"
#include "analyzer/heap/verdict.h"

namespace gmt {

// Which parameters of kernels take ends, as far as the trace has said.
class EndParameters {
public:
  void add(const CallVerdicts::End& end) {
    if (end.parameter < kNoParameter) of_[end.function].set(end.parameter);
  }
  bool contains(std::uint64_t function, unsigned parameter) const {
    const auto known = of_.find(function);
    return known != of_.end() && parameter < kNoParameter && known->second.test(parameter);
  }

private:
  std::unordered_map<std::uint64_t, std::bitset<kNoParameter>> of_; // by kernel
};

class PointerReadings {
public:
  PointerReadings(const BlockStore& store, const UserPools& user_pools)
      : store_(store), user_pools_(user_pools) {}

  // Whether a use after free is a mistake: false if the pointer means something else for sure. Sets
  // what else it may mean.
  bool is_mistake(Verdict& use_after_free, std::uint64_t function, Arguments all,
                  CallVerdicts& verdicts) const;
  // Nothing is known to be at this word: if it is the end of another argument's block, it is
  // nothing else.
  void note_end(std::uint64_t function, Arguments all, Argument word, CallVerdicts& verdicts) const;
  // Begins at most an element behind it; null if none does
  const Block* live_just_behind(std::uint64_t address) const;

private:
  bool read_as_end(Verdict& verdict, Arguments all) const;

  const BlockStore& store_;
  const UserPools& user_pools_;
};

} // namespace gmt
