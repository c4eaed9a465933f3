// SPDX-License-Identifier: Apache-2.0
// Registers that may hold more than what was moved: sums, products and the like, and what was made
// of one. Logic and shifts of bits count as moves, since they build values of fields.
#pragma once

#include "simulated_cuda/executor/parse/ptx.h"

#include <vector>

namespace gmt::executor {

// For each of Body::registers.
std::vector<bool> computed_registers(const ptx::Body& body);

// Whether a part of the operand is one of them.
bool names_computed(const ptx::Body& body, const ptx::Operand& operand,
                    const std::vector<bool>& computed);

} // namespace gmt::executor
