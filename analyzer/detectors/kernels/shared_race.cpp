// SPDX-License-Identifier: Apache-2.0
// shared-race: two threads of a block used the same shared memory, at least one of them wrote
// it, and no barrier lies between. Known from the simulated device alone.

#include "analyzer/detectors/shared/faults/fault_detector.h"

namespace gmt {
namespace {

const DetectorRegistration kSharedRace{{
  .id = fault_kinds::kSharedRace,
  .severity = Severity::kError,
  .title = "two threads of a block used shared memory without a barrier between",
  .make =
    [](const ProcessFacts& facts) { return make_fault_detector(facts, fault_kinds::kSharedRace); },
  .wants = wants(EventKind::kFault),
}};

} // namespace
} // namespace gmt
