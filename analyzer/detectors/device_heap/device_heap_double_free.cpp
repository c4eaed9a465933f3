// SPDX-License-Identifier: Apache-2.0
// device-heap-double-free: free or delete in a kernel of a block that a kernel had freed before and
// that was not allocated again since. The verdict is DeviceHeap's. CUDA ends the context with
// cudaErrorLaunchFailure (719, measured on an H200); the record stands in the ring before the call
// is made.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/device_stacks.h"

namespace gmt {
namespace {

class DeviceHeapDoubleFree : public Detector {
public:
  explicit DeviceHeapDoubleFree(const ProcessFacts& facts) : facts_(facts) {}

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    for (const auto& context : end.device_contexts) {
      for (const DeviceMistake& mistake : mistakes_of(*context)) {
        if (mistake.what == DeviceMistake::What::kDoubleFree)
          findings.add(finding(mistake, *context));
      }
    }
  }

private:
  Finding finding(const DeviceMistake& mistake, const DeviceContext& context) const {
    Finding f;
    f.kind = "device-heap-double-free";
    f.api = device_call(mistake.at.op);
    f.message = {CallName{f.api},
                 " of ",
                 format_address(mistake.address),
                 " in ",
                 kernel_of(mistake.at, context),
                 ", which was already freed in ",
                 kernel_of(mistake.block.freed, context),
                 ": ",
                 describe_block(mistake.block, context)};
    f.advice =
      "Let one thread free the block, and set every copy of the pointer to nullptr once it is freed.";
    f.bytes = mistake.bytes;
    f.count = mistake.count;
    f.address = mistake.address;
    add_device_stack(f, StackRole::kFreed, mistake.at, context, facts_, StackOrder::kAgain);
    add_device_stack(f, StackRole::kFreed, mistake.block.freed, context, facts_,
                     StackOrder::kFirst);
    add_device_stack(f, StackRole::kAllocated, mistake.block.allocated, context, facts_);
    return f;
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kDeviceHeapDoubleFree{{
  .id = "device-heap-double-free",
  .severity = Severity::kError,
  .title = "memory of a kernel's malloc freed twice",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DeviceHeapDoubleFree>(facts);
  },
  .wants = kWantsNothing,
}};

} // namespace
} // namespace gmt
