// SPDX-License-Identifier: Apache-2.0
// The call stacks of one process, each once: logs number their stacks on their own, this table
// makes equal stacks of all threads equal ids. Return addresses, innermost first, and behind them
// Python frames (python_frames.h).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/model/event.h"
#include "analyzer/trace_reader/python_frames.h"

namespace gmt {

class StackTable {
public:
  // Equal stacks get equal ids; the empty stack is id 0.
  StackId intern(std::span<const std::uint64_t> addresses);
  // The same of a stack with Python frames. Frames of the interpreter's own code do not count: it
  // runs one line by other functions when it has seen it often. All get the first one's id.
  StackId intern_python(const std::vector<std::uint64_t>& addresses);
  // Where that code lies, and the C library's, each range with its end. The C library's outermost
  // frames started the program, and only short stacks have them. Unless it is set, all count.
  using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  void set_interpreter(Ranges interpreter, Ranges c_library) {
    interpreter_ = std::move(interpreter);
    c_library_ = std::move(c_library);
  }
  // Empty for id 0 and for ids never given out
  std::span<const std::uint64_t> frames(StackId id) const;
  std::size_t size() const { return begins_.size() - 2; } // ids are 1..size()
  // Of stacks that differ, only the first kMostStacks are kept whole. Of later ones the outermost
  // frames stay, so that some share an id.
  static constexpr std::size_t kMostStacks = 32'768;
  std::uint64_t merged() const { return merged_; } // how many came later
  PythonFrames& python() { return python_; }
  const PythonFrames& python() const { return python_; }

private:
  struct Bucket {
    std::uint32_t hash = 0;
    std::uint32_t id = 0; // 0: empty
  };
  std::size_t find(std::span<const std::uint64_t> addresses, std::uint32_t hash) const;
  StackId add_or_find(std::span<const std::uint64_t> addresses, std::size_t most);
  void grow();
  std::vector<std::uint64_t> shown_frames(const std::vector<std::uint64_t>& addresses) const;

  std::uint64_t merged_ = 0;
  std::vector<std::uint64_t> addresses_;
  std::vector<std::uint64_t> begins_{0, 0}; // frames of id i: [begins_[i], begins_[i + 1])
  std::vector<Bucket> buckets_;             // open addressing, a power of two, at most half full
  PythonFrames python_;
  Ranges interpreter_, c_library_;
  std::map<std::vector<std::uint64_t>, StackId> by_shown_frames_; // those of intern_python()
};

} // namespace gmt
