// SPDX-License-Identifier: Apache-2.0
// What the heap says about one call: mistakes, and parameters of kernels that take the end of a
// block.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/heap/block.h"
#include "analyzer/heap/graphs/graph_work.h"

namespace gmt {

// A pointer that counts from 1 begins at most so many bytes before its block.
inline constexpr std::uint64_t kLargestElement = 64;

// One mistake of a call, or one release of what was never seen allocated.
struct Verdict {
  enum class Kind : std::uint8_t {
    kNone,               // nothing to say: not a memory call, or all is well
    kDoubleFree,         // block: the freed one
    kMismatchedFree,     // block: the live one
    kInvalidFreeInside,  // block: the live one that contains the address
    kInvalidFreeEnded,   // block: ended with its context
    kInvalidFreeUnknown, // no block, or the freed one that the address lies inside of
    kUnseenAllocation,   // the driver freed what we never saw allocated: not a mistake
    kUseAfterFree,       // block: the freed one that the range starts in (see `side`)
    // block: the live one; bytes_past lie outside of it. The range begins inside of it, or
    // bytes_before it, or at its end or behind (offset). Of an array: see Heap::find_array and
    // box_of.
    kOutOfBounds,
  };
  enum class Side : std::uint8_t { kNone, kDestination, kSource };
  // What else a kernel's pointer into freed memory may be: one past the end of a live block that
  // another argument points into, as the second of a pair of iterators is; or a few bytes before a
  // live block, as a pointer that counts from 1 is.
  enum class Reading : std::uint8_t { kNone, kEnd, kBefore };
  Kind kind = Kind::kNone;
  Side side = Side::kNone;
  std::uint8_t parameter = kNoParameter; // of a kernel, where a launch was checked
  Reading reading = Reading::kNone;
  std::uint8_t neighbour_parameter = kNoParameter; // kEnd: which one points into `neighbour`
  const Block* block = nullptr;                    // valid until the next apply()
  const Block* neighbour = nullptr; // the live block of `reading`, or who has the memory; likewise
  const GraphWork* work = nullptr;  // of the graph whose launch was checked; likewise
  std::uint64_t offset = 0;         // of the address inside block
  std::uint64_t bytes_past = 0, bytes_before = 0; // kOutOfBounds
  std::uint64_t range_begin = 0, range_bytes = 0; // the range checked; 0 bytes: length unknown

  bool is_mistake() const { return kind != Kind::kNone && kind != Kind::kUnseenAllocation; }
};

// What checking one call gave. More mistakes than fit in say nothing new.
class CallVerdicts {
public:
  struct End { // a kernel was given the end of another argument's block
    std::uint64_t function = 0;
    unsigned parameter = 0;
  };

  void clear() {
    count_ = 0;
    ends_.clear();
  }
  void add(const Verdict& verdict) {
    if (count_ < verdicts_.size()) verdicts_[count_++] = verdict;
  }
  void add_end(std::uint64_t function, unsigned parameter) {
    ends_.push_back({function, parameter});
  }

  std::span<const Verdict> all() const { return {verdicts_.data(), count_}; }
  std::span<const End> ends() const { return ends_; }
  bool empty() const { return count_ == 0; }
  bool is_full() const { return count_ == verdicts_.size(); }

private:
  std::array<Verdict, 8> verdicts_;
  std::size_t count_ = 0;
  std::vector<End> ends_;
};

} // namespace gmt
