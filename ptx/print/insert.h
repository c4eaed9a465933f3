// SPDX-License-Identifier: Apache-2.0
// New instructions between those of a Body. Labels, scopes and lines keep their places.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

struct Insertion {
  std::uint32_t at = 0; // an instruction of the body as it is, or its end
  bool behind = false;  // directly behind it, else directly before it
  Instruction instruction;
};

// Those at one place keep their order. A label leads to what is inserted before its instruction.
void insert(Body& body, const std::vector<Insertion>& insertions);

// Declares registers that all scopes of the body see. Returns the number of the first one; the
// others follow it. What the names view must live as long as the body, which must not have them.
std::uint32_t add_registers(Body& body, Type type, const std::vector<std::string_view>& names);

} // namespace gmt::ptx
