// SPDX-License-Identifier: Apache-2.0
// Arrays of shared memory that are accessed 16 bytes at a time, but declared with a smaller
// alignment: ptxas aligns them as they are accessed if it compiles a whole program (seen with CUDA
// 13.0), and as they are declared if it compiles code to be linked, as checked code is.
#pragma once

#include <string>

namespace gmt::rewriter {

// The text of a module whose shared arrays of 16 bytes and more lie at multiples of 16.
std::string with_aligned_arrays(std::string text);

} // namespace gmt::rewriter
