// SPDX-License-Identifier: Apache-2.0
// How many of the lowest bits of a register are certainly 0: whether an address is aligned. Counted
// over all definitions of the register; variables lie as their declarations say.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

// For each of Body::registers.
std::vector<std::uint8_t> zero_bits_of(const Module& module, const Body& body);

} // namespace gmt::ptx
