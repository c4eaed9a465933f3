// SPDX-License-Identifier: Apache-2.0
// device-pointer: the host's own code used an address of device memory, and the system ended the
// program. Known where the program left the signal to the system (trace/FORMAT.md, key `crash`).
// Pinned, registered or managed memory that was freed is use-after-free.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/faults/memory_around.h"

namespace gmt {
namespace {

// Managed memory is the host's too, though not at any time on every system.
bool is_out_of_hosts_reach(const Block& block) {
  using enum trace::MemoryKind;
  switch (block.memory_kind) {
  case kDevice:
  case kPitched:
  case kStreamOrdered:
  case kGraph:
  case kModuleGlobal:
  case kVmmMapping:
  case kIpc:
  case kPoolImport: return true;
  default: return false;
  }
}

class DevicePointer : public Detector {
public:
  explicit DevicePointer(const ProcessFacts& facts) : facts_(facts) {}

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    if (!end.crash) return;
    const HostCrash& crash = *end.crash;
    const MemoryAround around = memory_around(crash.address, 1, {heap});
    const bool is_freed = around.where == MemoryAround::Where::kFreed;
    if (around.block == nullptr || (!is_freed && around.where != MemoryAround::Where::kInside))
      return;
    const bool is_devices = is_out_of_hosts_reach(*around.block);
    if (!is_devices && !is_freed) return;
    Finding f;
    f.kind = is_devices ? "device-pointer" : "use-after-free";
    f.severity = Severity::kError;
    f.address = crash.address;
    f.bytes = around.block->bytes;
    f.message = {cat({"The host ", crash.is_write ? "writes to " : "reads ",
                      format_address(crash.address), ", "}),
                 describe(around, facts_), cat({", and ", crash.signal, " ends the program"})};
    f.advice = is_devices
                 ? "Copy the data with cudaMemcpy, or allocate it with cudaMallocManaged: the host "
                   "cannot use memory of the device by its address."
                 : "Do not use the memory after it is freed.";
    f.stacks.push_back(stack_as(StackRole::kAccessed, crash.stack, {}));
    add_stacks(f.stacks, around, facts_);
    findings.add(std::move(f));
  }

private:
  const ProcessFacts& facts_;
};

const DetectorRegistration kDevicePointer{{
  .id = "device-pointer",
  .severity = Severity::kError,
  .title = "the host used an address of device memory, which ended the program",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DevicePointer>(facts);
  },
  .wants = kWantsNothing,
}};

} // namespace
} // namespace gmt
