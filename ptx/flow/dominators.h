// SPDX-License-Identifier: Apache-2.0
// Immediate post-dominators of the blocks of a Flow.
#pragma once

#include "ptx/flow/flow.h"

namespace gmt::ptx {

// Sets `reconverges_at` of all blocks. Blocks from which control never leaves the function count
// as if one block of their loop could.
void find_post_dominators(Flow& flow);

} // namespace gmt::ptx
