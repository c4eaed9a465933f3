// SPDX-License-Identifier: Apache-2.0
// One fuzz input is one whole trace: a sequence of files, each "<name>\n<length>\n<bytes>", as in
// the seeds that the driver makes. Run by libFuzzer (fuzz_entry.cpp with clang) and by the plain
// driver under ctest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gmt::test {

// Writes the input as a trace directory and analyses it. Returns normally for every input, or
// something is wrong.
void analyze_input(const std::uint8_t* data, std::size_t size);

// A directory as an input.
std::string pack_trace(const std::string& directory);

// A sound trace with a bit of everything, to mutate from.
std::string seed_input();

} // namespace gmt::test
