// SPDX-License-Identifier: Apache-2.0
// device-heap-alignment: __nv_aligned_device_malloc with an alignment that is no power of two. CUDA
// programming guide, "Dynamic global memory allocation": the alignment must be a power of two other
// than zero.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/device_stacks.h"

namespace gmt {
namespace {

class DeviceHeapAlignment : public Detector {
public:
  explicit DeviceHeapAlignment(const ProcessFacts& facts) : facts_(facts) {}

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    for (const auto& context : end.device_contexts) {
      for (const DeviceMistake& mistake : mistakes_of(*context)) {
        if (mistake.what == DeviceMistake::What::kAlignment)
          findings.add(finding(mistake, *context));
      }
    }
  }

private:
  Finding finding(const DeviceMistake& mistake, const DeviceContext& context) const {
    const std::uint64_t alignment = mistake.offset;
    std::uint64_t next = 1;
    while (next < alignment && next < std::uint64_t{1} << 62) next *= 2;
    Finding f;
    f.kind = "device-heap-alignment";
    f.api = device_call(mistake.at.op);
    f.message = {CallName{f.api},
                 " in ",
                 kernel_of(mistake.at, context),
                 " asked for an alignment of ",
                 format_count(alignment),
                 ", which is no power of two",
                 mistake.address == 0 ? ", and got NULL"
                                      : "; the block need not be aligned at all"};
    f.advice = cat({"Pass a power of two, such as ", format_count(next), "."});
    f.bytes = mistake.bytes;
    f.count = mistake.count;
    add_device_stack(f, StackRole::kAllocated, mistake.at, context, facts_);
    return f;
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kDeviceHeapAlignment{{
  .id = "device-heap-alignment",
  .severity = Severity::kError,
  .title = "aligned malloc in a kernel whose alignment is no power of two",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DeviceHeapAlignment>(facts);
  },
  .wants = kWantsNothing,
}};

} // namespace
} // namespace gmt
