// SPDX-License-Identifier: Apache-2.0
// What a grid has before its first block starts: constants, the layout of shared memory, which
// memory it does not write, and how many of its blocks run at the same time.
#pragma once

#include <cstdint>

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/block.h"

namespace gmt::executor {

// The program's constants, and the launch's parameters that instructions read as such.
void fill_constants(Grid& grid, const Program& program);

// Variables are allocated, with gaps between them; dynamic memory stands behind.
void lay_out_shared(Grid& grid, const Program& program, std::uint64_t dynamic_bytes);

// Through which parameters only memory is loaded that no store reaches. A store that misses its
// block by so much that it meets another one is no race that is looked for.
void find_never_written(const Launch& launch, const Program& program, Grid& grid);

// Blocks that run at the same time.
struct Residents {
  std::uint64_t usual = 0; // 0: there is no memory for those that have to
  std::uint64_t most = 0;  // where all that run wait for others
  bool fill_gpu = false;   // `most`: a GPU would have room for no more
};
Residents residents_of(const Launch& launch, const Grid& grid, const Program& program);

} // namespace gmt::executor
