// SPDX-License-Identifier: Apache-2.0
// Runs fuzz inputs without a fuzzer: every file of the folders named, then N random mutations of
// the seed, the same ones for the same number. What ctest runs, with any compiler.
//   analyzer_fuzz_driver N [FOLDER...]      analyzer_fuzz_driver --write-seed FILE

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>

#include "fuzz_trace.h"
#include "mutate.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace {

void run(const std::string& input) {
  gmt::test::analyze_input(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--write-seed") == 0) {
    gmt::test::write_file(argv[2], gmt::test::seed_input());
    return 0;
  }
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s N [FOLDER...] | --write-seed FILE\n", argv[0]);
    return 2;
  }
  std::size_t inputs = 0;
  for (int i = 2; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) continue;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      run(gmt::test::read_file(entry.path()));
      ++inputs;
    }
  }
  const std::string seed = gmt::test::seed_input();
  run(seed);
  std::mt19937_64 random(1);
  const auto mutations = std::strtoull(argv[1], nullptr, 10);
  std::string previous = seed;
  for (unsigned long long i = 0; i < mutations; ++i) {
    previous =
      gmt::test::mutate(i % 4 == 0 || previous.size() > (1u << 20) ? seed : previous, random);
    run(previous);
  }
  std::printf("%zu inputs of the corpus and %llu mutations\n", inputs, mutations);
  return 0;
}
