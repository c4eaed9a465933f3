// SPDX-License-Identifier: Apache-2.0
// Settles which verdicts on a call stand, before any detector sees them: where two models of memory
// know the same pointer, the one that it belongs to decides; where records of allocations or
// releases were lost before, none does, as what lies there now is not known: what CUDA accepted is
// no mistake, a release that it refused is one without a history, and other calls that it refused
// are failed calls. Records of tensors are among the first that are lost, so for verdicts on them
// any loss counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "analyzer/device_heap/device_heaps.h"
#include "analyzer/heap/heap.h"
#include "analyzer/heap/lost_history.h"
#include "analyzer/model/event.h"

namespace gmt {

class Arbiter {
public:
  // `memory_lost_from`: the order in which the first such record was lost, 0 if none was.
  // `any_lost`: of any kind.
  Arbiter(const Heap& heap, const DeviceHeaps& device_heaps, std::uint64_t memory_lost_from,
          bool any_lost)
      : heap_(heap), device_heaps_(device_heaps), memory_lost_from_(memory_lost_from),
        any_lost_(any_lost) {}

  // `verdicts` are the heap's on this event.
  std::span<const Verdict> settle(const Event& e, std::span<const Verdict> verdicts) const {
    if (verdicts.empty()) return verdicts;
    const bool is_behind_loss = memory_lost_from_ != 0 && e.order >= memory_lost_from_;
    const bool is_on_lost_tensor =
      any_lost_ && e.succeeded() && std::ranges::any_of(verdicts, on_tensor);
    if (is_on_lost_tensor || belongs_to_device_heap(e)) return {};
    if (is_behind_loss) return behind_loss(e);
    return verdicts;
  }

private:
  // The host's own free() has no result: its verdict is the block's alone.
  static std::span<const Verdict> behind_loss(const Event& e) {
    const bool is_refused = !e.succeeded() && !e.in_flight();
    if (e.kind != EventKind::kFree || !is_refused) return {};
    return {&kReleaseWithLostHistory, 1};
  }

  // The heap knows nothing of what kernels allocate: to it such a pointer was never allocated.
  bool belongs_to_device_heap(const Event& e) const {
    return device_heaps_.misused_by(e, heap_) != 0;
  }

  static bool on_tensor(const Verdict& verdict) {
    return verdict.block != nullptr && is_tensor(*verdict.block);
  }

  const Heap& heap_;
  const DeviceHeaps& device_heaps_;
  std::uint64_t memory_lost_from_;
  bool any_lost_;
};

} // namespace gmt
