// SPDX-License-Identifier: Apache-2.0
// From which loads a value may come: reaching definitions of shadows, backwards through the code of
// one function.
#pragma once

#include "simulated_cuda/executor/program/program.h"

#include <cstdint>
#include <set>

namespace gmt::executor {

// The instructions "track.ld" and "track.shfl" of `code`, which is tracked, whose results may be
// part of the shadow `operand` where `at` begins. A value that was overwritten on all ways there is
// none of them. Empty if the code is too large to be followed.
std::set<const Instruction*> reaching_loads(const Program& program, const Code& code,
                                            const Instruction* at, std::uint32_t operand);

} // namespace gmt::executor
