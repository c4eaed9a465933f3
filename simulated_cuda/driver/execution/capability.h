// SPDX-License-Identifier: Apache-2.0
// The compute capability that the devices claim: what the setting says, else the highest for which
// the program has registered PTX, else 9.0. Driver lock held.
#pragma once

namespace gmt::sim {

void claim_capability_of(const void* image);
unsigned claimed_capability(); // such as 90
// For which texts of PTX may be that a program loads itself: the setting, or what is claimed and at
// least 90, which the devices are otherwise.
unsigned newest_target();

} // namespace gmt::sim
