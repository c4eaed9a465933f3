// SPDX-License-Identifier: Apache-2.0
// The figures of processes that may be running, and what has changed since the figures before.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/analysis/live/follower.h"
#include "analyzer/command/live/device_totals.h"
#include "analyzer/command/live/top_view.h"
#include "analyzer/model/reported_finding.h"
#include "analyzer/report/live_findings.h"
#include "analyzer/report/suppressions.h"

namespace gmt {

struct LiveMemory { // of one kind of memory of one device
  std::string memory_kind;
  int device = -1; // -1: the host's
  std::uint64_t live_bytes = 0, live_blocks = 0, peak_bytes = 0;
};

struct LiveHolder { // a call stack, or a range
  std::string name;
  std::uint64_t bytes = 0, blocks = 0;
  std::int64_t growth = 0; // since the figures before
};

struct LiveProcess {
  TraceInfo info;
  std::string trace;
  bool has_ended = false;
  Totals totals; // live_bytes is device memory now
  std::uint64_t failures = 0;
  std::uint64_t allocations_before = 0; // when the figures before were made
  std::vector<LiveMemory> memory;
  std::vector<trace::MemoryKind> kinds;   // of which memory is alive
  std::map<int, DeviceTotal> devices;     // what all processes use of these, where it is known
  std::vector<LiveHolder> holders;        // of the memory that is chosen, in that order
  std::vector<LiveHolder> ranges;         // NVTX ranges in which live device memory was allocated
  std::vector<ReportedFinding> findings;  // the newest ones, newest first
  std::uint64_t errors = 0, warnings = 0; // of all findings so far
};

// One process, from poll to poll.
class LiveView {
public:
  explicit LiveView(const TraceDir& trace) : follower_(trace), symbols_(follower_) {}

  void poll() { follower_.poll(); }
  LiveProcess figures(const HolderChoice& choice = {});

private:
  const CallStack& call_stack_of(StackId id);
  struct Held { // by one call stack
    std::uint32_t stack = 0;
    std::uint64_t bytes = 0, blocks = 0;
    std::int64_t growth = 0;
  };
  std::vector<Held> held(const HolderChoice& choice) const;
  void add_holders(LiveProcess& process, const HolderChoice& choice);
  void add_ranges(LiveProcess& process);
  void add_findings(LiveProcess& process);

  Follower follower_;
  LiveSymbols symbols_;
  Suppressions suppressions_; // none
  std::vector<ReportedFinding> findings_;
  std::uint64_t errors_ = 0, warnings_ = 0;
  std::unordered_map<std::uint32_t, CallStack> stacks_;           // by StackId
  std::unordered_map<std::uint32_t, std::uint64_t> bytes_before_; // by StackId
  std::optional<trace::MemoryKind> kind_before_;
  std::uint64_t allocations_before_ = 0;
  bool is_first_ = true;
};

// `seconds` since the figures before, 0 if there are none.
std::string live_text(const std::vector<LiveProcess>& processes, double seconds,
                      const TopView& view);
std::string live_json(const std::vector<LiveProcess>& processes);
std::string live_prometheus(const std::vector<LiveProcess>& processes);

} // namespace gmt
