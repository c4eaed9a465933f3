// SPDX-License-Identifier: Apache-2.0
// One block alone of each launch: the others count as done and do nothing. For replays of launches
// whose mistake is known to lie there. Set while no kernel runs.
#pragma once

#include <cstdint>

namespace gmt::executor {

// By its number in the grid, as blockIdx counts, x first. Its whole cluster runs. Of a smaller grid
// no block does.
void run_only_block(std::uint64_t number);

} // namespace gmt::executor
