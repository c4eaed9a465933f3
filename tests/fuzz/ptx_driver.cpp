// SPDX-License-Identifier: Apache-2.0
// Three changes are made one on top of the other before the next piece is taken.
#include "tests/fuzz/ptx_driver.h"

#include "tests/unit/ptx/support/ptx_fixtures.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace gmt::test {
namespace {

// With GMT_FUZZ_KEEP in the environment, each input is written there before it runs.
void keep(const std::string& input) {
  const char* path = std::getenv("GMT_FUZZ_KEEP");
  if (path != nullptr) std::ofstream(path, std::ios::binary) << input;
}

} // namespace

namespace {

// A piece of each fixture that a walk takes: to read them all takes a fuzzer longer than it has.
void write_seeds(const std::filesystem::path& folder) {
  Random random(1);
  for (const auto& path : ptx::test::fixtures_to_walk()) {
    std::ofstream(folder / path.stem(), std::ios::binary)
      << piece_of(ptx::test::read_fixture(path), random);
  }
}

} // namespace

int drive_ptx(int argc, char** argv, RunInput run, ChangeInput change) {
  if (argc == 3 && std::string_view(argv[1]) == "--write-seeds") {
    write_seeds(argv[2]);
    return 0;
  }
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s N [FOLDER...] | --write-seeds FOLDER\n", argv[0]);
    return 2;
  }
  const auto run_text = [&](const std::string& text) {
    keep(text);
    run(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  std::vector<std::filesystem::path> corpus;
  for (int i = 2; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) continue;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
      corpus.push_back(entry.path());
  }
  std::sort(corpus.begin(), corpus.end());
  std::vector<std::string> seeds;
  for (const auto& path : corpus) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    run_text(seeds.back());
  }
  for (const auto& path : ptx::test::fixtures()) seeds.push_back(ptx::test::read_fixture(path));
  Random random(1);
  const auto changes = std::strtoull(argv[1], nullptr, 10);
  std::string text;
  for (unsigned long long i = 0; i < changes; ++i) {
    const bool anew = i % 3 == 0 || text.size() > 4 * kLargestPiece || text.empty();
    if (anew) text = piece_of(seeds[random() % seeds.size()], random);
    text = change(std::move(text), random);
    run_text(text);
  }
  std::printf("%zu inputs of the corpus and %llu changes\n", corpus.size(), changes);
  return 0;
}

} // namespace gmt::test
