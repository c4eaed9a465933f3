// SPDX-License-Identifier: Apache-2.0
// kernel-fault: any other fault that ended a kernel: a trap, an illegal instruction, a stack
// overflow, an illegal address of which nothing else is known.

#include "analyzer/detectors/shared/faults/fault_detector.h"

namespace gmt {
namespace {

const DetectorRegistration kKernelFault{{
  .id = fault_kinds::kFault,
  .severity = Severity::kError,
  .title = "a kernel was stopped by any other fault",
  .make = [](const ProcessFacts& facts) { return make_fault_detector(facts, fault_kinds::kFault); },
  .wants = wants(EventKind::kFault),
}};

} // namespace
} // namespace gmt
