// SPDX-License-Identifier: Apache-2.0
// The call stacks of one process, each once: logs number their stacks on their own, this table
// makes equal stacks of all threads equal ids. Return addresses, innermost first, and behind them
// Python frames (python_frames.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/event.h"
#include "analyzer/trace_reader/python_frames.h"

namespace gmt {

class StackTable {
public:
  // Equal stacks get equal ids; the empty stack is id 0.
  StackId intern(std::span<const std::uint64_t> addresses);
  // Empty for id 0 and for ids never given out
  std::span<const std::uint64_t> frames(StackId id) const;
  std::size_t size() const { return begins_.size() - 2; } // ids are 1..size()
  PythonFrames& python() { return python_; }
  const PythonFrames& python() const { return python_; }

private:
  struct Bucket {
    std::uint32_t hash = 0;
    std::uint32_t id = 0; // 0: empty
  };
  void grow();

  std::vector<std::uint64_t> addresses_;
  std::vector<std::uint64_t> begins_{0, 0}; // frames of id i: [begins_[i], begins_[i + 1])
  std::vector<Bucket> buckets_;             // open addressing, a power of two, at most half full
  PythonFrames python_;
};

} // namespace gmt
