// SPDX-License-Identifier: Apache-2.0
// Registers that may hold more than what was moved: sums, products and the like, and what was made
// of one. A shift by whole bytes, a field and an "or" count as moves, since they put values
// together from parts; other shifts, masks and logic are computations, unless an "or" puts their
// result into another value.
#pragma once

#include "ptx/syntax/ptx.h"

#include <cstdint>
#include <vector>

namespace gmt::executor {

// For each of Body::registers.
enum class Derivation : std::uint8_t { kMoved, kOfBits, kComputed };
std::vector<Derivation> derivations_of_registers(const ptx::Body& body);

// How the parts of the operand were derived: the most that is true of one.
Derivation derivation_of(const ptx::Body& body, const ptx::Operand& operand,
                         const std::vector<Derivation>& registers);

} // namespace gmt::executor
