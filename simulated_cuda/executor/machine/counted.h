// SPDX-License-Identifier: Apache-2.0
// Counts what threads execute of the features that may give other results than a GPU.
#pragma once

#include "simulated_cuda/executor/program/program.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace gmt::executor {

struct Inexact;

// The index of a feature, which is added if it is not there.
std::uint32_t feature_of(Program& program, std::string_view name);
// A handler that counts the instruction, and then does what `handler` does.
Handler counting(Program& program, Code& code, const Instruction& in, std::string_view feature,
                 Handler handler);

// Of what was executed, by feature, and of what is not counted.
std::vector<Inexact> inexact_features(const Program& program,
                                      const std::vector<std::uint64_t>& executed);

} // namespace gmt::executor
