// SPDX-License-Identifier: Apache-2.0
// Unpacks fixtures by libzstd.
#include "tests/unit/ptx/support/ptx_fixtures.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <zstd.h>

#include "tests/support/test_share.h"

namespace gmt::ptx::test {

namespace {
constexpr std::size_t kShare = 8;
}

std::vector<std::filesystem::path> fixtures() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(GMT_TESTS "/executor/ptx")) {
    if (entry.path().extension() == ".zst") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::filesystem::path> share_of(std::vector<std::filesystem::path> paths) {
  std::vector<std::filesystem::path> some;
  for (std::size_t i = 0; i < paths.size(); i += gmt::test::one_in(kShare))
    some.push_back(std::move(paths[i]));
  return some;
}

std::vector<std::filesystem::path> fixtures_to_walk() { return share_of(fixtures()); }

// They differ in size: a share has half of what it would have were they equal.
std::size_t at_least(std::size_t of_all) {
  const std::size_t one_in = gmt::test::one_in(kShare);
  return one_in == 1 ? of_all : of_all / (2 * one_in);
}

std::vector<std::filesystem::path> all_texts() {
  std::vector<std::filesystem::path> found = fixtures();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(GMT_TESTS)) {
    if (entry.path().extension() == ".ptx") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string read_fixture(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string packed((std::istreambuf_iterator<char>(file)), {});
  if (path.extension() != ".zst") return packed;
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size > 1u << 30) throw std::runtime_error("no size in " + path.string());
  std::string text(size, '\0');
  const std::size_t got = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) || got != size) throw std::runtime_error("cannot unpack " + path.string());
  return text;
}

} // namespace gmt::ptx::test
