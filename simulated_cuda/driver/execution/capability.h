// SPDX-License-Identifier: Apache-2.0
// The compute capability that the devices claim: what the setting says, else the highest for which
// the program has registered PTX, else 9.0. Driver lock held.
#pragma once

namespace gmt::sim {

void claim_capability_of(const void* image);
unsigned claimed_capability(); // such as 90

} // namespace gmt::sim
