// SPDX-License-Identifier: Apache-2.0
// global-race: two threads of a launch, of one block or of two, used the same bytes of global
// memory, at least one of them wrote them, and nothing orders the two. Known from the simulated
// device alone.

#include "analyzer/detectors/shared/faults/fault_detector.h"

namespace gmt {
namespace {

const DetectorRegistration kGlobalRace{{
  .id = fault_kinds::kGlobalRace,
  .severity = Severity::kError,
  .title = "two threads of a kernel used global memory in no order",
  .make =
    [](const ProcessFacts& facts) { return make_fault_detector(facts, fault_kinds::kGlobalRace); },
  .wants = wants(EventKind::kFault),
}};

} // namespace
} // namespace gmt
