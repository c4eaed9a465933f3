// SPDX-License-Identifier: Apache-2.0
// The PTX of tests/executor/ptx, unpacked.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gmt::ptx::test {

// All fixtures, sorted by name.
std::vector<std::filesystem::path> fixtures();

// The text of one. Throws std::runtime_error if it is damaged.
std::string read_fixture(const std::filesystem::path& path);

} // namespace gmt::ptx::test
