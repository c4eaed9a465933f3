// SPDX-License-Identifier: Apache-2.0
// kernel-out-of-bounds: an access in a kernel outside of the memory that it is meant for: past
// the end or before the beginning of an allocation, a variable, shared or local memory, or in no
// memory that CUDA gave out.

#include "analyzer/detectors/shared/faults/fault_detector.h"

namespace gmt {
namespace {

const DetectorRegistration kKernelOutOfBounds{{
  .id = fault_kinds::kOutOfBounds,
  .severity = Severity::kError,
  .title = "a kernel read or wrote past the end of memory",
  .make =
    [](const ProcessFacts& facts) { return make_fault_detector(facts, fault_kinds::kOutOfBounds); },
  .wants = wants(EventKind::kFault) | wants(EventKind::kLaunch), // for its arguments
}};

} // namespace
} // namespace gmt
