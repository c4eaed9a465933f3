// SPDX-License-Identifier: Apache-2.0
// Patterns beside fenced blocks that have changed (--guard): a kernel wrote outside of its block,
// by so little that nothing faulted. Which kernel it was is inferred from the launches that were
// given the block.
#pragma once

#include <memory>

#include "analyzer/detectors/detector.h"

namespace gmt {

inline constexpr Wants kWantsGuardDamage = wants(EventKind::kGuardDamage) |
                                           wants(EventKind::kLaunch) | wants(EventKind::kAlloc) |
                                           kWantsMistakes;

// Null where nothing was fenced.
std::unique_ptr<Detector> make_guard_damage(const ProcessFacts& facts);

} // namespace gmt
