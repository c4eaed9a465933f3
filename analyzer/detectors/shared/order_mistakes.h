// SPDX-License-Identifier: Apache-2.0
// Uses and frees of stream-ordered memory that nothing orders, as findings that wait for the end of
// the trace: only then it is known whether a kernel's parameter is the end of another argument.
// Equal ones are one finding with a count.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/stream_clock.h"

namespace gmt {

struct StreamUse {
  StreamClock::Point work; // the newest on its stream
  StackId stack;
  std::uint16_t api;
  // Of a kernel's parameter (from 1, else 0) that may belong to the block beside this one instead.
  unsigned neighbour_parameter = 0;
  std::uint64_t function = 0;
  Text other = {}; // what it is then
};

enum class OrderMistake : std::uint8_t { kUsedEarly, kFreedEarly, kFreedInUse, kFreedWithoutWait };

constexpr bool is_before_allocation(OrderMistake mistake) {
  return mistake == OrderMistake::kUsedEarly || mistake == OrderMistake::kFreedEarly;
}

class OrderMistakes {
public:
  struct Found {
    OrderMistake mistake;
    const StreamUse& call; // at fault
    const StreamClock::Point& allocated_at;
    const StreamUse& use; // that is not ordered before the call; the call itself if there is none
    const Block& block;
  };

  OrderMistakes(const ProcessFacts& facts, const StreamClock& clock)
      : facts_(facts), clock_(clock) {}

  void add(const Found& found);
  bool empty() const { return found_.empty(); }
  void report(const Heap& heap, Findings& findings); // once, at the end of the trace

private:
  // What is equal in findings that are one; the last two: see StreamUse
  using Key = std::array<std::uint64_t, 6>;
  Finding describe(const Found& found) const;

  const ProcessFacts& facts_;
  const StreamClock& clock_;
  std::map<Key, Finding> found_;
};

} // namespace gmt
