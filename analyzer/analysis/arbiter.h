// SPDX-License-Identifier: Apache-2.0
// Settles which verdicts on a call stand, before any detector sees them: where two models of memory
// know the same pointer, the one that it belongs to decides.
#pragma once

#include <span>

#include "analyzer/device_heap/device_heaps.h"
#include "analyzer/heap/heap.h"
#include "analyzer/model/event.h"

namespace gmt {

class Arbiter {
public:
  Arbiter(const Heap& heap, const DeviceHeaps& device_heaps)
      : heap_(heap), device_heaps_(device_heaps) {}

  // `verdicts` are the heap's on this event.
  std::span<const Verdict> settle(const Event& e, std::span<const Verdict> verdicts) const {
    if (verdicts.empty() || !belongs_to_device_heap(e)) return verdicts;
    return {};
  }

private:
  // The heap knows nothing of what kernels allocate: to it such a pointer was never allocated.
  bool belongs_to_device_heap(const Event& e) const {
    return device_heaps_.misused_by(e, heap_) != 0;
  }

  const Heap& heap_;
  const DeviceHeaps& device_heaps_;
};

} // namespace gmt
