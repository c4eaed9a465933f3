// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/live/follower.h"

#include <algorithm>
#include <span>
#include <system_error>

#include "analyzer/analysis/totals.h"

namespace gmt {

Follower::Follower(const TraceDir& trace)
    : stream_(trace), model_(stream_, options_),
      arbiter_(heap_, model_.device_heaps(), stream_.stats().memory_lost_from(),
               stream_.stats().lost() != 0),
      findings_(model_.ranges()), detectors_(model_) {
  stream_.follow(true);
}

std::uint64_t Follower::poll() {
  if (has_ended_) return 0;
  // Asked before the records are read: what was written before the end is read then.
  std::error_code error;
  const bool is_complete = std::filesystem::exists(stream_.trace().path / "complete", error);
  std::uint64_t events = 0;
  do {
    stream_.read_on();
    events += drain();
  } while (stream_.has_newer());
  if (!is_complete) return events;
  stream_.follow(false);
  stream_.read_on();
  events += drain();
  has_ended_ = true;
  return events;
}

std::uint64_t Follower::drain() {
  const std::uint64_t before = totals_.events;
  while (const Event* e = stream_.next()) follow(*e);
  return totals_.events - before;
}

void Follower::follow(const Event& e) {
  model_.follow(e);
  count(totals_, e);
  newest_order_ = std::max(newest_order_, e.order);
  const bool is_refused = !e.succeeded() && !e.in_flight();
  if (e.kind == EventKind::kAlloc && is_refused) ++failures_;
  findings_.at(e);
  const std::span<const Verdict> verdicts = heap_.apply(e);
  model_.follow_call(e, heap_);
  detectors_.on_event(e, arbiter_.settle(e, verdicts), heap_, findings_);
}

Totals Follower::totals() const {
  Totals totals = totals_;
  model_.unrecorded().add_to(totals);
  totals.threads = stream_.threads();
  totals.peak_bytes = heap_.peak_device_bytes();
  totals.live_bytes = heap_.live_device_bytes();
  return totals;
}

} // namespace gmt
