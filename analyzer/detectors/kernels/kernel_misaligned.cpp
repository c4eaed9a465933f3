// SPDX-License-Identifier: Apache-2.0
// kernel-misaligned: an access in a kernel whose address is no multiple of its size, which
// ends the context on a GPU.

#include "analyzer/detectors/shared/faults/fault_detector.h"

namespace gmt {
namespace {

const DetectorRegistration kKernelMisaligned{{
  .id = fault_kinds::kMisaligned,
  .severity = Severity::kError,
  .title = "a kernel accessed an address that is no multiple of the access's size",
  .make =
    [](const ProcessFacts& facts) { return make_fault_detector(facts, fault_kinds::kMisaligned); },
  .wants = wants(EventKind::kFault) | wants(EventKind::kLaunch), // for its arguments
}};

} // namespace
} // namespace gmt
