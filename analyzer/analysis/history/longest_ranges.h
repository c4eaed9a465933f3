// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/analysis/history/memory_history.h"

namespace gmt {

// Of more ranges than that the longest are left, in any order. Says how many are gone.
std::uint64_t keep_longest_ranges(std::vector<MemoryHistory::Range>& ranges, std::size_t most);

} // namespace gmt
