// SPDX-License-Identifier: Apache-2.0
// The PTX of tests/executor/ptx, which is unpacked, and of other folders of tests/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gmt::ptx::test {

// All of tests/executor/ptx, sorted by name.
std::vector<std::filesystem::path> fixtures();

// All PTX that the tests have, fixtures and others, sorted by path. Some of it cannot be read.
std::vector<std::filesystem::path> all_texts();

// The text of one, packed or not. Throws std::runtime_error if it is damaged.
std::string read_fixture(const std::filesystem::path& path);

} // namespace gmt::ptx::test
