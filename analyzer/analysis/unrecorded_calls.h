// SPDX-License-Identifier: Apache-2.0
// Calls that the trace names by their number alone, in notes of the name `unrecordedCalls`:
// --record-range leaves out what is outside of its range. To models and detectors such a note is a
// call that may have used any memory and ordered any streams.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/analysis/process_report.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/model/event.h"
#include "analyzer/trace_reader/folded_calls.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

class UnrecordedCalls {
public:
  explicit UnrecordedCalls(const TraceDir& trace);

  void follow(const Event& e) {
    if (e.kind != EventKind::kNote || e.api != api_ || api_ == trace::kNoApi) [[likely]]
      return;
    ++notes_;
    const event::Note& note = e.note();
    const FoldedCalls calls = FoldedCalls::of(note.first, note.second, note.third, note.fourth);
    if (!calls.is_folded) {
      outside_ += calls.records;
      return;
    }
    folded_.add(calls);
    ++folded_notes_;
  }
  // Orders that no record has, because it was dropped.
  std::uint64_t empty_orders() const { return folded_.records - folded_notes_; }
  // What was dropped counts in the totals all the same, each release with its allocation.
  void add_to(Totals& totals) const {
    totals.events += folded_.records - folded_.others - notes_;
    totals.allocations += folded_.allocations;
    totals.frees += folded_.allocations;
    totals.allocated_bytes += folded_.allocated_bytes;
    totals.launches += folded_.launches;
    totals.copies += folded_.copies;
  }

  void report(Findings& findings) const;

private:
  std::uint16_t api_ = trace::kNoApi;
  std::string range_;
  std::uint64_t outside_ = 0, notes_ = 0, folded_notes_ = 0;
  FoldedCalls folded_;
};

} // namespace gmt
