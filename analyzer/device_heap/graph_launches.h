// SPDX-License-Identifier: Apache-2.0
// The launches of one executable graph. Its kernels keep one grid id over all of them, so which
// launch a kernel's record belongs to is known only as far as times say: a launch begins when the
// one before of the same graph has ended (CUDA programming guide, "Graph launch"), none runs before
// the host asks for it, none after the host has waited for it.
//
// Answers are final when all launches have been added.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/event.h"

namespace gmt {

// How far DeviceHeap::host_time() may be off, in nanoseconds, generously.
inline constexpr std::uint64_t kDeviceClockError = 5'000'000;

struct GraphLaunch {
  std::uint64_t begun = 0; // nanoseconds of CLOCK_REALTIME, 0 unknown
  std::uint64_t ended = 0; // the same, when the host knew that it had; 0 if never
  std::uint64_t stream = 0;
  StackId stack;
  std::uint16_t api = trace::kNoApi;
};

class GraphLaunches {
public:
  static constexpr std::size_t kMostKept = 100'000; // the first ones; later ones are counted only

  void add(const GraphLaunch& launch);
  // The host has waited, until then, for all work of the stream or of the context.
  void wait_for_stream(std::uint64_t stream, std::uint64_t until);
  void wait_for_all(std::uint64_t until) { end(kept_.size(), until); }

  std::uint64_t count() const { return count_; }

  // Those which can have run at that time of DeviceHeap::host_time(), numbered from 1: at least one
  // of them.
  struct Range {
    std::uint64_t first = 0, last = 0;
    bool is_one() const { return first == last; }
  };
  Range at(std::uint64_t host_time) const;
  // By number; the last one kept stands for those behind it.
  const GraphLaunch& launch(std::uint64_t number) const;
  bool is_one_site(Range range) const; // all were made by one line

private:
  void end(std::size_t stop, std::uint64_t until);

  std::vector<GraphLaunch> kept_;
  std::size_t ended_ = 0; // so many of them, from the first on
  std::uint64_t count_ = 0;
};

} // namespace gmt
