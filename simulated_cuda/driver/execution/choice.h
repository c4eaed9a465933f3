// SPDX-License-Identifier: Apache-2.0
// Which launches are checked: --only-kernels, --skip-kernels, --checked-launches, --launches,
// --processes and --range. The others run with bounds alone.
#pragma once

#include <cstdint>
#include <string>

namespace gmt::sim {

// Whether findings about a kernel, by its name as it is linked, are wanted in its launch number N,
// from 1. Driver lock held.
bool is_wanted(const std::string& kernel, std::uint64_t number);
// Whether the program is in the range of --range, on this thread and now; of what another call has
// left (late.h), when that call was made.
bool is_in_chosen_range();
// The program has called cuProfilerStart, or cuProfilerStop.
void note_profiler(bool is_on);
// Why its launch number N, from 1, is not checked: half a sentence; empty: it is.
std::string why_unchecked(const std::string& kernel, std::uint64_t number);

} // namespace gmt::sim
