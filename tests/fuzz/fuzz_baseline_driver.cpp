// SPDX-License-Identifier: Apache-2.0
// Damaged baselines and JSON reports: each is read, or refused with a sentence, and then compared
// with a report. The same mutations for the same number.
//   baseline_fuzz_driver N      baseline_fuzz_driver --write-seeds FOLDER

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include "mutate.h"
#include "tests/fuzz/fuzz_reports.h"

namespace {

// False if hardly any could be read: then nothing behind the parser was tried.
template <class Try>
bool run(const char* what, const std::string& seed, unsigned long long mutations, Try attempt) {
  std::mt19937_64 random(1);
  unsigned long long readable = attempt(seed) ? 1 : 0;
  std::string previous = seed;
  for (unsigned long long i = 0; i < mutations; ++i) {
    const bool again = i % 3 == 0 || previous.size() > (1u << 18);
    previous = gmt::test::mutate(again ? seed : previous, random);
    readable += attempt(previous) ? 1 : 0;
  }
  std::printf("%s: %llu mutations, %llu could be read\n", what, mutations, readable);
  return readable > mutations / 1000;
}

} // namespace

int main(int argc, char** argv) {
  using namespace gmt::test;
  if (argc == 3 && std::string_view(argv[1]) == "--write-seeds") {
    std::ofstream(std::string(argv[2]) + "/baseline") << baseline_seed();
    std::ofstream(std::string(argv[2]) + "/report") << report_seed();
    return 0;
  }
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s N | --write-seeds FOLDER\n", argv[0]);
    return 2;
  }
  const auto mutations = std::strtoull(argv[1], nullptr, 10);
  const bool first = run("baselines", baseline_seed(), mutations, compare_with_baseline);
  const bool second = run("reports", report_seed(), mutations / 4, compare_reports);
  return first && second ? 0 : 1;
}
