// SPDX-License-Identifier: Apache-2.0
// A process that answers questions about its memory while it runs: docs/follow.md. It may have made
// no CUDA call yet: then it holds nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analyzer/analysis/live/follower.h"
#include "analyzer/analysis/live/live_blocks.h"
#include "analyzer/analysis/live/span_memory.h"
#include "analyzer/command/live/live_traces.h"
#include "analyzer/report/live_findings.h"
#include "analyzer/report/suppressions.h"

namespace gmt {

class FollowedProcess {
public:
  using Json = nlohmann::ordered_json;

  FollowedProcess(TracedProcess process, Suppressions suppressions);
  FollowedProcess(const TraceHead& trace, Suppressions suppressions);

  // Reads what the process has recorded since. All below is as of then.
  void poll();

  void begin(); // a span: what was found and allocated before is none of it
  void pause() { span_.pause(newest_order()); }
  void resume() { span_.resume(newest_order()); }
  Json process_json() const; // what each answer has
  Json span_json();          // findings of the span, and its memory
  Json snapshot_json();      // live blocks by call stack

private:
  void open(const TraceHead& trace);
  std::uint64_t newest_order() const { return follower_ ? follower_->newest_order() : 0; }
  Json json_of(const ReportedFinding& finding) const;
  using AddTo =
    std::function<void(Json& row, const LiveBlocks&, const ReportedFinding&, const Json& whole)>;
  Json rows_of(std::vector<LiveBlocks> all, const AddTo& add); // the largest first
  Json tensors_json(const std::function<bool(const Block&)>& filter);

  std::optional<TracedProcess> process_;
  Suppressions suppressions_;
  std::optional<Follower> follower_;
  std::optional<LiveSymbols> symbols_;
  SpanMemory span_;
  std::vector<Finding> findings_; // of the span's calls
};

} // namespace gmt
