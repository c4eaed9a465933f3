// SPDX-License-Identifier: Apache-2.0
// kernel-uninitialized-read: a kernel used bytes of global or shared memory that nothing
// wrote. Known from the simulated device, and of global memory from --kernel-checks=init.

#include "analyzer/detectors/shared/faults/fault_detector.h"

namespace gmt {
namespace {

const DetectorRegistration kKernelUninitializedRead{{
  .id = fault_kinds::kUninitializedRead,
  .severity = Severity::kWarning,
  .title = "a kernel used memory that nothing wrote",
  .make =
    [](const ProcessFacts& facts) {
      return make_fault_detector(facts, fault_kinds::kUninitializedRead);
    },
  .wants = wants(EventKind::kFault),
}};

} // namespace
} // namespace gmt
