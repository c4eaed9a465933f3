// SPDX-License-Identifier: Apache-2.0
// Calls of __assertfail, by which an assert of CUDA C++ ends its kernel. What they say stands in
// the text: the condition, the file, the line and the function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/flow/origins.h"
#include "ptx/syntax/ptx.h"

namespace gmt::rewriter {

struct Assertion {
  std::uint32_t call = 0;   // the instruction
  std::uint32_t before = 0; // the first one of those that store its arguments
  // As CUDA prints them, in front of the block and behind the thread; empty: the text does not say
  std::string location, condition;
};

// Those that every thread that gets there executes, in the order of the text. `origins`: of the
// body's registers.
std::vector<Assertion> assertions_of(const ptx::Module& module, const ptx::Function& function,
                                     const ptx::Body& body,
                                     const std::vector<ptx::Origin>& origins);

} // namespace gmt::rewriter
