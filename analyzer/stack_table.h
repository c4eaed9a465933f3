// SPDX-License-Identifier: Apache-2.0
// The call stacks of one process, each once: logs number their stacks on their own, this table makes equal stacks
// of all threads equal ids. Return addresses, innermost first.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyzer/event.h"

namespace gmt {

class StackTable {
public:
  StackId intern(std::span<const std::uint64_t> addresses);
  std::span<const std::uint64_t> frames(StackId id) const; // empty for id 0
  std::size_t size() const { return begins_.size() - 1; }  // ids are 1..size()

private:
  std::vector<std::uint64_t> addresses_;
  std::vector<std::uint32_t> begins_{0, 0}; // frames of id i: [begins_[i], begins_[i + 1])
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

} // namespace gmt
