// SPDX-License-Identifier: Apache-2.0
// device-heap-high-water: a note where kernels held most of what the device heap may hold, though
// nothing was refused. The next larger problem will be: device-heap-exhausted. Where the ring lost
// records, what seems alive may have been freed.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/device_stacks.h"

namespace gmt {
namespace {

// The allocator's own bookkeeping takes a part of the limit too: of 8 MiB it gives out six blocks
// of 1 MiB, which lie 1.22 MiB apart (measured on an H200, driver 580).
constexpr std::uint64_t kPercent = 75;

class DeviceHeapHighWater : public Detector {
public:
  explicit DeviceHeapHighWater(const ProcessFacts& facts) : facts_(facts) {}

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    for (const auto& context : end.device_contexts) {
      const DeviceHeap& heap = context->heap;
      const std::uint64_t percent =
        context->limit == 0 ? 0 : heap.peak_bytes() * 100 / context->limit;
      if (percent < kPercent || !heap.refusals().empty() || heap.lost() != 0) continue;
      Finding f;
      f.kind = "device-heap-high-water";
      f.severity = Severity::kNote;
      f.bytes = heap.peak_bytes();
      f.message =
        cat({"Kernels held ", format_bytes(heap.peak_bytes()), " of the device heap at most, ",
             std::to_string(percent), " % of its limit of ", format_bytes(context->limit)});
      f.advice =
        cat({"For larger problems call cudaDeviceSetLimit(cudaLimitMallocHeapSize, ",
             std::to_string(sufficient_limit(*context)), ") before the first kernel is launched."});
      add_device_stack(f, StackRole::kAllocated, heap.peak(), *context, facts_);
      findings.add(std::move(f));
    }
  }

private:
  const ProcessFacts& facts_;
};

const DetectorRegistration kDeviceHeapHighWater{{
  .id = "device-heap-high-water",
  .severity = Severity::kNote,
  .title = "device heap that was nearly full",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DeviceHeapHighWater>(facts);
  },
  .wants = kWantsNothing,
}};

} // namespace
} // namespace gmt
