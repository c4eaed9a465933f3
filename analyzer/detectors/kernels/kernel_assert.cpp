// SPDX-License-Identifier: Apache-2.0
// kernel-assert: a device assert failed, which ends the context with
// CUDA_ERROR_ASSERT (710).

#include "analyzer/detectors/shared/faults/fault_detector.h"

namespace gmt {
namespace {

const DetectorRegistration kKernelAssert{{
  .id = fault_kinds::kAssert,
  .severity = Severity::kError,
  .title = "an assert in a kernel failed",
  .make =
    [](const ProcessFacts& facts) { return make_fault_detector(facts, fault_kinds::kAssert); },
  .wants = wants(EventKind::kFault),
}};

} // namespace
} // namespace gmt
