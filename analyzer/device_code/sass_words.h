// SPDX-License-Identifier: Apache-2.0
// The 128 bits of an instruction, whose fields may not cross from one word to the other.
#pragma once

#include <cstdint>

namespace gmt {

struct SassWords {
  std::uint64_t low = 0, high = 0;
  std::uint32_t field(unsigned from, unsigned bits) const {
    const std::uint64_t word = from < 64 ? low >> from : high >> (from - 64);
    return static_cast<std::uint32_t>(word & ((std::uint64_t{1} << bits) - 1));
  }
  bool bit(unsigned n) const { return field(n, 1) != 0; }
  std::uint32_t kind() const { return field(0, 9); } // the opcode without the form of its operands
};

} // namespace gmt
