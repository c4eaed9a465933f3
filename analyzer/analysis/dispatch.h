// SPDX-License-Identifier: Apache-2.0
// Calls detectors by what they want (Detector::wants), since most events concern none of them. A
// refused call that no detector claims is passed on once more, to those that want unclaimed
// refusals.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "analyzer/detectors/detector.h"

namespace gmt {

class Dispatch {
public:
  explicit Dispatch(const ProcessFacts& facts);
  Dispatch(const Dispatch&) = delete; // detectors know where changed_ is
  Dispatch& operator=(const Dispatch&) = delete;

  // `verdicts` are those that stand.
  void on_event(const Event& e, std::span<const Verdict> verdicts, const Heap& heap,
                Findings& findings) {
    if (is_for_heap_alone(e.kind)) return;
    if (e.kind == EventKind::kTensor) [[unlikely]]
      return on_tensor(e, heap, findings);
    if (e.result == 0 && verdicts.empty()) {
      for (Detector* detector : by_kind_[row_of(e)]) {
        detector->on_event(e, verdicts, heap, findings);
      }
    } else {
      on_refused_or_flagged(e, verdicts, heap, findings);
    }
    if (changed_) sort_by_kind();
  }
  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings);

private:
  void on_refused_or_flagged(const Event& e, std::span<const Verdict> verdicts, const Heap& heap,
                             Findings& findings);
  void on_tensor(const Event& e, const Heap& heap, Findings& findings);
  void sort_by_kind();
  static bool is_odd_allocation(const Event& e) {
    return e.kind == EventKind::kAlloc && e.allocation().memory_kind != trace::MemoryKind::kDevice;
  }
  static constexpr std::size_t kOddAllocations = kEventKinds; // a row of its own
  static std::size_t row_of(const Event& e) {
    return is_odd_allocation(e) ? kOddAllocations : static_cast<std::size_t>(e.kind);
  }

  std::vector<std::unique_ptr<Detector>> detectors_; // those that want unclaimed refusals last
  // Those that want a call that went well
  std::array<std::vector<Detector*>, kEventKinds + 1> by_kind_;
  bool changed_ = false; // a detector asks for other events than before
};

} // namespace gmt
