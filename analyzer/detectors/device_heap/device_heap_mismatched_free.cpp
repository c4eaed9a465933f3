// SPDX-License-Identifier: Apache-2.0
// device-heap-mismatched-free: new[] freed by delete, malloc by delete, and so on. The C++ standard
// leaves the result undefined ([expr.delete]); CUDA's allocator serves all of them, so most of it
// goes unnoticed until a class has a destructor: new[] then keeps a count in front of the first
// element. The verdict is DeviceHeap's.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/device_stacks.h"

namespace gmt {
namespace {

class DeviceHeapMismatchedFree : public Detector {
public:
  explicit DeviceHeapMismatchedFree(const ProcessFacts& facts) : facts_(facts) {}

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    for (const auto& context : end.device_contexts) {
      for (const DeviceMistake& mistake : mistakes_of(*context)) {
        if (mistake.what == DeviceMistake::What::kMismatched)
          findings.add(finding(mistake, *context));
      }
    }
  }

private:
  Finding finding(const DeviceMistake& mistake, const DeviceContext& context) const {
    const trace::DeviceOp allocated_with = mistake.block.allocated.op;
    Finding f;
    f.kind = "device-heap-mismatched-free";
    f.api = device_call(mistake.at.op);
    f.message = {CallName{f.api}, " in ", kernel_of(mistake.at, context), " of ",
                 describe_block(mistake.block, context)};
    f.advice = cat({"Free what ", device_call(allocated_with), " gave with ",
                    device_call(device_release(allocated_with)), "."});
    f.group = device_call(allocated_with);
    f.bytes = mistake.bytes;
    f.count = mistake.count;
    f.address = mistake.address;
    add_device_stack(f, StackRole::kFreed, mistake.at, context, facts_);
    add_device_stack(f, StackRole::kAllocated, mistake.block.allocated, context, facts_);
    return f;
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kDeviceHeapMismatchedFree{{
  .id = "device-heap-mismatched-free",
  .severity = Severity::kError,
  .title = "memory freed in a kernel by the wrong one of free, delete and delete[]",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DeviceHeapMismatchedFree>(facts);
  },
  .wants = kWantsNothing,
}};

} // namespace
} // namespace gmt
