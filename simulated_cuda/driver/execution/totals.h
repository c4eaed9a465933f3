// SPDX-License-Identifier: Apache-2.0
// How many launches ran, how long, and how true to a GPU: for the observer, which hears of it
// behind each launch. Driver lock held.
#pragma once

#include "simulated_cuda/executor/executor.h"

#include <cstdint>

namespace gmt::sim {

// One more launch, with its outcome and how long it took, all that belongs to it included.
void add_to_totals(const executor::Outcome& outcome, double seconds);
double seconds_in_kernels();
// In which order blocks have their turns, and on how many threads at most.
void set_order(std::uint64_t seed, unsigned threads);

} // namespace gmt::sim
