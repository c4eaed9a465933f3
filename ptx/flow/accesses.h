// SPDX-License-Identifier: Apache-2.0
// Which registers an instruction reads and which it writes, by the syntax alone: the first operand
// is the result, but for opcodes that have none.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

struct Accesses {
  std::vector<std::uint32_t> reads;  // the guard too
  std::vector<std::uint32_t> writes; // all of them, or none if there is a guard that is false
};

// Replaces what `accesses` held.
void accesses_of(const Body& body, const Instruction& instruction, Accesses& accesses);

// Whether the first operand of this instruction is a result.
bool has_result(const Mnemonic& mnemonic);

} // namespace gmt::ptx
