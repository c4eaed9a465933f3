// SPDX-License-Identifier: Apache-2.0
// kernel-hang: a kernel that can never end: all of its threads wait at barriers for more threads
// than there are, or poll memory that nothing changes any more. One that is only slow is none.
// Known from the simulated device alone.

#include "analyzer/detectors/shared/faults/fault_detector.h"

namespace gmt {
namespace {

const DetectorRegistration kKernelHang{{
  .id = fault_kinds::kHang,
  .severity = Severity::kError,
  .title = "a kernel that can never end",
  .make = [](const ProcessFacts& facts) { return make_fault_detector(facts, fault_kinds::kHang); },
  .wants = wants(EventKind::kFault),
}};

} // namespace
} // namespace gmt
