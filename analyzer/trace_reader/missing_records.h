// SPDX-License-Identifier: Apache-2.0
// Records that were made and are not in the trace, though nothing says that they were lost: a log
// was deleted, or not copied with the others. Their numbers in the process-wide order stay unused,
// and logs are numbered without holes.
//
// What is empty for another reason: orders of records that were dropped (counted in the headers'
// lost[]), of torn and damaged ones, one of each thread that was in the middle of a call when the
// process ended, and those of a batch that was cut off. What comes behind the last record of all
// leaves no gap: the missing end of a killed process's log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/event.h"
#include "analyzer/trace_reader/log_stats.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

class OrderGaps {
public:
  // Every event, in merged order.
  void follow(const Event& e) {
    if (!has_own_order(e)) return;
    if (e.order > last_) {
      if (e.order != last_ + 1) note_gap(e.order - last_ - 1);
      last_ = e.order;
      last_record_ = {e.log, may_be_of_batch(e), e.result == kResultInFlight};
    } else if (e.order < last_ && empty_ != 0) {
      --empty_; // out of order (damage): it was taken for missing
    }
    if (e.log >= last_of_log_.size()) [[unlikely]]
      make_room(e.log);
    last_of_log_[e.log] = e.order;
  }

  // How many records are missing for no known reason.
  std::uint64_t missing(const LogStats& total, bool exit_recorded) const;

private:
  struct LastRecord {
    std::uint32_t log = 0;
    bool of_batch = false, in_flight = false;
  };
  struct Gap { // behind a record that may be one of several of a call
    std::uint64_t behind, orders;
    LastRecord record;
  };

  // The others have the order of the call before them.
  static bool has_own_order(const Event& e) {
    return e.kind >= EventKind::kAlloc || e.kind == EventKind::kThread ||
           e.kind == EventKind::kRange || e.kind == EventKind::kExit ||
           e.kind == EventKind::kFault || e.kind == EventKind::kExecution;
  }
  static bool may_be_of_batch(const Event& e) {
    return e.kind == EventKind::kUse || (e.kind == EventKind::kCopy && e.copy().is_batched);
  }
  void note_gap(std::uint64_t orders);
  void make_room(std::uint32_t log);
  bool is_cut_batch(const Gap& gap) const;

  std::uint64_t last_ = 0;  // highest order seen
  std::uint64_t empty_ = 0; // orders up to it that no record has
  LastRecord last_record_;
  std::vector<std::uint64_t> last_of_log_; // highest order, by Event::log
  std::vector<Gap> gaps_;
};

// Files that lack though later ones of the same numbering are there, in words: "t*-1.0.log".
std::vector<std::string> missing_logs(const TraceDir& trace);

} // namespace gmt
