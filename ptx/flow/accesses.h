// SPDX-License-Identifier: Apache-2.0
// Which registers an instruction reads and which it writes, as the table of opcodes says.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/opcodes/opcodes.h"
#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

struct Accesses {
  std::vector<std::uint32_t> reads;  // the guard too
  std::vector<std::uint32_t> writes; // all of them, or none if there is a guard that is false
  std::vector<const OperandPattern*> operands; // what the table says of each
};

// Replaces what `accesses` held.
void accesses_of(const Body& body, const Instruction& instruction, Accesses& accesses);

} // namespace gmt::ptx
