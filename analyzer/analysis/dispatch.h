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
      for (Detector* detector : by_kind_[static_cast<std::size_t>(e.kind)]) {
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

  std::vector<std::unique_ptr<Detector>> detectors_; // those that want unclaimed refusals last
  std::array<std::vector<Detector*>, kEventKinds> by_kind_; // those that want a call that went well
  bool changed_ = false; // a detector asks for other events than before
};

} // namespace gmt
