// SPDX-License-Identifier: Apache-2.0
// Which launches are checked: --only-kernels, --skip-kernels and --checked-launches. The others run
// with bounds alone.
#pragma once

#include <cstdint>
#include <string>

namespace gmt::sim {

// Whether findings about a kernel are wanted, by its name as it is linked. Driver lock held.
bool is_chosen(const std::string& kernel);
// Why its launch number N, from 1, is not checked: half a sentence; empty: it is.
std::string why_unchecked(const std::string& kernel, std::uint64_t number);

} // namespace gmt::sim
