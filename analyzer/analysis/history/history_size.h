// SPDX-License-Identifier: Apache-2.0
// How much of a MemoryHistory is kept.
#pragma once

#include <cstddef>

namespace gmt {

struct HistorySize {
  std::size_t columns = 0;  // at most; 0: no history is made
  std::size_t layers = 24;  // of each set
  std::size_t stacks = 600; // by each of four figures
};

} // namespace gmt
