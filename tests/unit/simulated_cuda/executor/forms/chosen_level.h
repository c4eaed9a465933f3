// SPDX-License-Identifier: Apache-2.0
// In this executable the tests say with which level's handlers the machine executes.
#pragma once

namespace gmt::executor {

// 2 or 3, from here on; 3 at first, and 2 for it where the processor cannot execute it. Programs
// that were bound keep theirs.
void choose_level(int level);

} // namespace gmt::executor
