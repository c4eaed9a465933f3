// SPDX-License-Identifier: Apache-2.0
// barrier-divergence: threads wait at a barrier that others of their block never reach, or no
// thread can go on. Known from the simulated device alone.

#include "analyzer/detectors/shared/faults/fault_detector.h"

namespace gmt {
namespace {

const DetectorRegistration kBarrierDivergence{{
  .id = fault_kinds::kBarrierDivergence,
  .severity = Severity::kError,
  .title = "threads of a block wait at a barrier that others never reach",
  .make =
    [](const ProcessFacts& facts) {
      return make_fault_detector(facts, fault_kinds::kBarrierDivergence);
    },
  .wants = wants(EventKind::kFault),
}};

} // namespace
} // namespace gmt
