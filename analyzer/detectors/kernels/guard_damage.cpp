// SPDX-License-Identifier: Apache-2.0
// kernel-out-of-bounds by patterns beside fenced blocks that have changed: shared/guard_damage.h.

#include "analyzer/detectors/shared/guard_damage.h"
#include "analyzer/detectors/shared/faults/fault_words.h"

namespace gmt {
namespace {

const DetectorRegistration kGuardDamage{{
  .id = fault_kinds::kOutOfBounds,
  .severity = Severity::kError,
  .title = "a kernel read or wrote past the end of memory",
  .make = make_guard_damage,
  .wants = kWantsGuardDamage,
  .is_another_way = true,
}};

} // namespace
} // namespace gmt
