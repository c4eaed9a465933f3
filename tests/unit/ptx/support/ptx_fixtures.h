// SPDX-License-Identifier: Apache-2.0
// The PTX of tests/executor/ptx, which is unpacked, and of other folders of tests/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gmt::ptx::test {

// All of tests/executor/ptx, sorted by name.
std::vector<std::filesystem::path> fixtures();

// Of these, or of `paths`, what a walk over all takes in this run: each, and with sanitizers one in
// eight.
std::vector<std::filesystem::path> fixtures_to_walk();
std::vector<std::filesystem::path> share_of(std::vector<std::filesystem::path> paths);
// What a walk over all fixtures counts at least, less where it takes a share of them.
std::size_t at_least(std::size_t of_all);

// All PTX that the tests have, fixtures and others, sorted by path. Some of it cannot be read.
std::vector<std::filesystem::path> all_texts();

// The text of one, packed or not. Throws std::runtime_error if it is damaged.
std::string read_fixture(const std::filesystem::path& path);

} // namespace gmt::ptx::test
