// SPDX-License-Identifier: Apache-2.0
// kernel-out-of-bounds: an access in a kernel outside of the memory that it is meant for.

#include "analyzer/detectors/shared/guard_damage.h"

namespace gmt {
namespace {

const DetectorRegistration kKernelOutOfBounds{{
  .id = "kernel-out-of-bounds",
  .severity = Severity::kError,
  .title = "a kernel read or wrote past the end of memory",
  .make = make_guard_damage,
  .wants = kWantsGuardDamage,
}};

} // namespace
} // namespace gmt
