// SPDX-License-Identifier: Apache-2.0
// kernel-use-after-free: an access in a kernel to memory that was freed before, or ended with
// its context.

#include "analyzer/detectors/shared/faults/fault_detector.h"

namespace gmt {
namespace {

const DetectorRegistration kKernelUseAfterFree{{
  .id = fault_kinds::kUseAfterFree,
  .severity = Severity::kError,
  .title = "a kernel read or wrote memory that was freed",
  .make =
    [](const ProcessFacts& facts) {
      return make_fault_detector(facts, fault_kinds::kUseAfterFree);
    },
  .wants = wants(EventKind::kFault),
}};

} // namespace
} // namespace gmt
