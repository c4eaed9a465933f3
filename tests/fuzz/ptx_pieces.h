// SPDX-License-Identifier: Apache-2.0
// Pieces of PTX and random changes of them, the same ones for the same generator.
#pragma once

#include <cstddef>
#include <random>
#include <string>

namespace gmt::test {

using Random = std::mt19937_64;

// Of an input: many small ones find more than few large.
inline constexpr std::size_t kLargestPiece = 24 << 10;

// The head of a module and a piece that begins with a function or a variable.
std::string piece_of(const std::string& text, Random& random);

// Bytes and lines flipped, doubled, cut out, or replaced by words of PTX.
std::string damage(std::string input, Random& random);

// Instructions moved, doubled, cut out or put together anew: opcodes, operands, guards, modifiers.
// One instruction a line, as compilers write them.
std::string change_code(std::string input, Random& random);

} // namespace gmt::test
