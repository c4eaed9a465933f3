// SPDX-License-Identifier: Apache-2.0
// device-heap-invalid-free: free or delete in a kernel of something that is no block of the device
// heap: inside a block, shared or local memory, never allocated. What the host's API gave out is
// heap-mixed. The verdict is DeviceHeap's; an unknown pointer among the heap's blocks is a mistake
// only if the context died, since otherwise code that is not instrumented allocated it.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/device_stacks.h"

namespace gmt {
namespace {

using What = DeviceMistake::What;

class DeviceHeapInvalidFree : public Detector {
public:
  explicit DeviceHeapInvalidFree(const ProcessFacts& facts) : facts_(facts) {}

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    std::uint64_t unseen = 0;
    for (const auto& context : end.device_contexts) {
      for (const DeviceMistake& mistake : mistakes_of(*context)) {
        if (is_unseen(mistake, *context, heap)) {
          unseen += mistake.count;
        } else if (is_invalid(mistake, heap)) {
          findings.add(finding(mistake, *context));
        }
      }
    }
    if (unseen == 0) return;
    findings.not_checked({"in-kernel malloc and free",
                          cat({"CUDA accepted ", format_plural(unseen, "free"),
                               " in kernels of memory whose allocation was not seen, as in code "
                               "that is not instrumented"})});
  }

private:
  static bool is_unseen(const DeviceMistake& mistake, const DeviceContext& context,
                        const Heap& heap) {
    return mistake.what == What::kNeverAllocated && host_block_of(mistake, heap) == nullptr &&
           context.heap.spans(mistake.address) && !heap.is_dead(context.heap.context());
  }

  static bool is_invalid(const DeviceMistake& mistake, const Heap& heap) {
    switch (mistake.what) {
    case What::kInside:
    case What::kShared:
    case What::kLocal: return true;
    case What::kNeverAllocated: return host_block_of(mistake, heap) == nullptr;
    default: return false;
    }
  }

  Finding finding(const DeviceMistake& mistake, const DeviceContext& context) const {
    Finding f;
    f.kind = "device-heap-invalid-free";
    f.api = device_call(mistake.at.op);
    f.message = {CallName{f.api},
                 " of ",
                 format_address(mistake.address),
                 " in ",
                 kernel_of(mistake.at, context),
                 ", which "};
    f.bytes = mistake.bytes;
    f.count = mistake.count;
    f.address = mistake.address;
    add_device_stack(f, StackRole::kFreed, mistake.at, context, facts_);
    switch (mistake.what) {
    case What::kInside:
      f.group = "inside";
      f.message += {"is ",
                    format_exact_bytes(mistake.offset),
                    " inside a block that begins at ",
                    format_address(mistake.block.address),
                    ": ",
                    describe_block(mistake.block, context)};
      f.advice = {"Pass the pointer that ", CallName{device_call(mistake.block.allocated.op)},
                  " gave (", format_address(mistake.block.address), ")."};
      add_device_stack(f, StackRole::kAllocated, mistake.block.allocated, context, facts_);
      break;
    case What::kShared:
      f.group = "shared";
      f.message += "is shared memory of the thread block";
      f.advice = "Do not free it: shared memory lives as long as its thread block.";
      break;
    case What::kLocal:
      f.group = "local";
      f.message += "is local memory of the thread: a variable or an array of a function";
      f.advice = "Do not free it: local memory lives as long as its function runs.";
      break;
    default:
      f.group = "unknown";
      f.message += "no malloc or new of a kernel gave out";
      f.advice =
        "Check where the pointer comes from; if code that is not instrumented allocated it, "
        "instrument that code too.";
    }
    return f;
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kDeviceHeapInvalidFree{{
  .id = "device-heap-invalid-free",
  .severity = Severity::kError,
  .title = "free in a kernel of what is no block of the device heap",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DeviceHeapInvalidFree>(facts);
  },
  .wants = kWantsNothing,
}};

} // namespace
} // namespace gmt
