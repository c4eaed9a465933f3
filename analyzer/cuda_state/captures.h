// SPDX-License-Identifier: Apache-2.0
// Stream captures under way: which streams take part in which. A stream that waits for an event of
// a capture joins it (CUDA C++ programming guide, cross-stream dependencies and events). Work on
// such a stream becomes a graph's nodes, see analyzer/heap/graphs/graph_table.h.
//
// A capture has the number of the stream where it began, see Event::own_stream().
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "analyzer/model/event.h"

namespace gmt {

class CaptureTable {
public:
  using Capture = std::uint64_t; // 0: none

  void on_sync(const Event& e);

  bool any() const { return !of_stream_.empty(); }
  // The capture that the call's work on this stream becomes a part of.
  Capture of(const Event& e, std::uint64_t stream) const {
    if (of_stream_.empty()) return 0;
    const auto at = of_stream_.find(e.own_stream(stream));
    return at != of_stream_.end() ? at->second : 0;
  }
  bool has_begun_in(std::uint32_t thread) const; // one that has not ended

  // The capture that the call ends, whether it becomes a graph or not: any answer ends it, except
  // that to a wrong thread.
  static std::optional<Capture> ended_by(const Event& e);

private:
  std::unordered_map<std::uint64_t, Capture> of_stream_, of_event_;
  std::unordered_map<Capture, std::uint32_t> begun_in_; // the thread
};

} // namespace gmt
