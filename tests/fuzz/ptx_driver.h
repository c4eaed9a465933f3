// SPDX-License-Identifier: Apache-2.0
// Runs inputs of PTX without a fuzzer: every file of the folders named, then N changed pieces of
// those files and of the fixtures, the same ones for the same number.
#pragma once

#include "tests/fuzz/ptx_pieces.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace gmt::test {

using RunInput = void (*)(const std::uint8_t* data, std::size_t size);
using ChangeInput = std::string (*)(std::string input, Random& random);

// main() of a driver: its arguments are N and the folders, or --write-seeds and a folder for inputs
// of a fuzzer.
int drive_ptx(int argc, char** argv, RunInput run, ChangeInput change);

} // namespace gmt::test
