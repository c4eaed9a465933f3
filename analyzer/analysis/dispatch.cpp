// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/dispatch.h"

#include <algorithm>
#include <utility>

namespace gmt {
namespace {

// Passes findings on, and marks the event as claimed when a detector says so.
class ClaimRecorder final : public Findings {
public:
  explicit ClaimRecorder(Findings& findings) : findings_(findings) {}

  void add(Finding finding) override { findings_.add(std::move(finding)); }
  void not_checked(NotChecked what) override { findings_.not_checked(std::move(what)); }
  void claim_refusal() override { claimed_ = true; }
  bool claimed() const { return claimed_; }

private:
  Findings& findings_;
  bool claimed_ = false;
};

} // namespace

Dispatch::Dispatch(const ProcessFacts& facts) {
  std::vector<const DetectorInfo*> all = all_detectors();
  // Not std::ranges's: clang 14 cannot compile its result with libstdc++ 12.
  std::stable_partition(all.begin(), all.end(), [](const DetectorInfo* info) {
    return (info->wants & kWantsUnclaimed) == 0;
  });
  for (const DetectorInfo* info : all) {
    std::unique_ptr<Detector> detector = info->make(facts);
    if (!detector) continue;
    detector->begin(info->wants, &changed_);
    detectors_.push_back(std::move(detector));
  }
  sort_by_kind();
}

void Dispatch::on_refused_or_flagged(const Event& e, std::span<const Verdict> verdicts,
                                     const Heap& heap, Findings& findings) {
  const bool is_mistake =
    std::ranges::any_of(verdicts, [](const Verdict& v) { return v.is_mistake(); });
  Wants happened = wants(e.kind);
  if (is_odd_allocation(e)) happened |= kWantsOddAllocations;
  if (e.result != 0) happened |= kWantsFailures;
  if (is_mistake) happened |= kWantsMistakes;
  ClaimRecorder of_event(findings);
  for (const auto& detector : detectors_) {
    if ((detector->wants() & happened) != 0) detector->on_event(e, verdicts, heap, of_event);
  }
  if (e.succeeded() || e.in_flight() || is_mistake || of_event.claimed()) return;
  for (const auto& detector : detectors_) {
    if ((detector->wants() & kWantsUnclaimed) != 0) detector->on_unclaimed(e, heap, findings);
  }
}

void Dispatch::on_tensor(const Event& e, const Heap& heap, Findings& findings) {
  for (const auto& detector : detectors_) {
    if ((detector->wants() & kWantsTensors) != 0) detector->on_event(e, {}, heap, findings);
  }
}

void Dispatch::finish(const EndOfTrace& end, const Heap& heap, Findings& findings) {
  for (const auto& detector : detectors_) detector->finish(end, heap, findings);
}

void Dispatch::sort_by_kind() {
  changed_ = false;
  for (std::size_t row = 0; row < by_kind_.size(); ++row) {
    by_kind_[row].clear();
    const Wants what = row == kOddAllocations ? wants(EventKind::kAlloc) | kWantsOddAllocations
                                              : wants(static_cast<EventKind>(row));
    for (const auto& detector : detectors_) {
      if ((detector->wants() & what) != 0) by_kind_[row].push_back(detector.get());
    }
  }
}

} // namespace gmt
