// SPDX-License-Identifier: Apache-2.0
// device-heap-freed-elsewhere: a note on blocks that another kernel or another thread block frees
// than the one that allocated them, where nothing that is known orders the two: legal, but it needs
// such an order. DeviceHeap collects the pairs of grids; of those that are not ordered, the first
// of two kernels stands for all.

#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/device_stacks.h"

namespace gmt {
namespace {

class DeviceHeapFreedElsewhere : public Detector {
public:
  explicit DeviceHeapFreedElsewhere(const ProcessFacts& facts) : facts_(facts) {}

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    for (const auto& context : end.device_contexts) {
      std::vector<ForeignFree> pairs = context->heap.foreign_frees();
      std::erase_if(pairs,
                    [&](const ForeignFree& pair) { return is_in_order(pair.example, *context); });
      const auto key_of = [&](const ForeignFree& pair) {
        const DeviceBlock& block = pair.example;
        return cat({is_in_one_grid(block) ? "1 " : "2 ", site_key(block.allocated, *context),
                    site_key(block.freed, *context)});
      };
      for (const ForeignFree& pair : merged(pairs, key_of)) findings.add(finding(pair, *context));
    }
  }

private:
  static bool is_in_one_grid(const DeviceBlock& block) {
    return block.allocated.grid == block.freed.grid;
  }

  // Thread blocks of one grid run in no order.
  static bool is_in_order(const DeviceBlock& block, const DeviceContext& context) {
    if (is_in_one_grid(block)) return false;
    // A later launch of the same kernel: its own.
    if (kernel_of(block.allocated, context) == kernel_of(block.freed, context)) return true;
    const KernelLaunch* allocation = context.launches.find(block.allocated.grid);
    const KernelLaunch* end = context.launches.find(block.freed.grid);
    return allocation != nullptr && end != nullptr && is_ordered(*allocation, *end);
  }

  Finding finding(const ForeignFree& pair, const DeviceContext& context) const {
    const DeviceBlock& block = pair.example;
    const std::string allocation = kernel_of(block.allocated, context),
                      end = kernel_of(block.freed, context);
    const bool same_grid = is_in_one_grid(block);
    Finding f;
    f.kind = "device-heap-freed-elsewhere";
    f.severity = Severity::kNote;
    f.api = device_call(block.freed.op);
    f.group = same_grid ? "block" : "kernel";
    f.bytes = pair.bytes;
    f.count = pair.count;
    f.address = block.address;
    f.message =
      same_grid
        ? cat({format_plural(pair.count, "block"), " of the device heap that one thread block of ",
               allocation, " allocated", pair.count == 1 ? " was" : " were", " freed by another"})
        : cat({format_plural(pair.count, "block"), " of the device heap allocated in ", allocation,
               pair.count == 1 ? " was" : " were", " freed in ", end});
    f.advice =
      same_grid
        ? "Thread blocks run in no order: free it in a later launch, or in the block that is the last "
          "to be done with it, as an atomic counter tells (threadFenceReduction of CUDA's samples)."
        : "Make sure that the kernels run one after the other: launch them into one stream, or let an event "
          "order the streams.";
    add_device_stack(f, StackRole::kFreed, block.freed, context, facts_);
    add_device_stack(f, StackRole::kAllocated, block.allocated, context, facts_);
    return f;
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kDeviceHeapFreedElsewhere{{
  .id = "device-heap-freed-elsewhere",
  .severity = Severity::kNote,
  .title = "memory of a kernel's malloc freed by another kernel or thread block",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DeviceHeapFreedElsewhere>(facts);
  },
  .wants = kWantsNothing,
}};

} // namespace
} // namespace gmt
