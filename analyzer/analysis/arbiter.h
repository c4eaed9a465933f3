// SPDX-License-Identifier: Apache-2.0
// Settles which verdicts on a call stand, before any detector sees them: where two models of memory
// know the same pointer, the one that it belongs to decides; where records of allocations or
// releases were lost before, what CUDA accepted is no mistake, as what lies there now is not known.
#pragma once

#include <cstdint>
#include <span>

#include "analyzer/device_heap/device_heaps.h"
#include "analyzer/heap/heap.h"
#include "analyzer/model/event.h"

namespace gmt {

class Arbiter {
public:
  // `memory_lost_from`: the order in which the first such record was lost, 0 if none was.
  Arbiter(const Heap& heap, const DeviceHeaps& device_heaps, std::uint64_t memory_lost_from)
      : heap_(heap), device_heaps_(device_heaps), memory_lost_from_(memory_lost_from) {}

  // `verdicts` are the heap's on this event.
  std::span<const Verdict> settle(const Event& e, std::span<const Verdict> verdicts) const {
    if (verdicts.empty()) return verdicts;
    const bool is_uncertain =
      memory_lost_from_ != 0 && e.succeeded() && e.order >= memory_lost_from_;
    if (is_uncertain || belongs_to_device_heap(e)) return {};
    return verdicts;
  }

private:
  // The heap knows nothing of what kernels allocate: to it such a pointer was never allocated.
  bool belongs_to_device_heap(const Event& e) const {
    return device_heaps_.misused_by(e, heap_) != 0;
  }

  const Heap& heap_;
  const DeviceHeaps& device_heaps_;
  std::uint64_t memory_lost_from_;
};

} // namespace gmt
