// SPDX-License-Identifier: Apache-2.0
// Which launches are checked: --only-kernels, --skip-kernels, --checked-launches, --launches and
// --processes. The others run with bounds alone.
#pragma once

#include <cstdint>
#include <string>

namespace gmt::sim {

// Whether findings about a kernel, by its name as it is linked, are wanted in its launch number N,
// from 1. Driver lock held.
bool is_wanted(const std::string& kernel, std::uint64_t number);
// Why its launch number N, from 1, is not checked: half a sentence; empty: it is.
std::string why_unchecked(const std::string& kernel, std::uint64_t number);

} // namespace gmt::sim
