// SPDX-License-Identifier: Apache-2.0
// Runs fuzz inputs without a fuzzer: every file of the folders named, then N random mutations of
// the seed, the same ones for the same number. What ctest runs, with any compiler.
//   analyzer_fuzz_driver N [FOLDER...]      analyzer_fuzz_driver --write-seed FILE

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>

#include "fuzz_trace.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace {

void run(const std::string& input) {
  gmt::test::analyze_input(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

// Bytes flipped, interesting words written, pieces doubled, cut out or zeroed: what finds most in
// binary formats.
std::string mutate(std::string input, std::mt19937_64& random) {
  static constexpr std::uint64_t kWords[] = {
    0, 1, 0xff, 0x7fffffffffffffff, ~0ull, 1ull << 32, 0xffff, 0x2001, 0x0103};
  for (std::uint64_t n = 1 + random() % 8; n > 0 && !input.empty(); --n) {
    const std::size_t at = random() % input.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 200, input.size() - at);
    switch (random() % 6) {
    case 0: input[at] = static_cast<char>(input[at] ^ (1 << random() % 8)); break;
    case 1: input[at] = static_cast<char>(random()); break;
    case 2: {
      const std::uint64_t word = kWords[random() % std::size(kWords)];
      std::memcpy(input.data() + at, &word, std::min<std::size_t>(sizeof word, input.size() - at));
      break;
    }
    case 3: input.insert(at, input.substr(at, length)); break;
    case 4: input.erase(at, length); break;
    default: std::fill_n(input.begin() + static_cast<std::ptrdiff_t>(at), length, '\0');
    }
  }
  return input;
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
    previous = mutate(i % 4 == 0 || previous.size() > (1u << 20) ? seed : previous, random);
    run(previous);
  }
  std::printf("%zu inputs of the corpus and %llu mutations\n", inputs, mutations);
  return 0;
}
