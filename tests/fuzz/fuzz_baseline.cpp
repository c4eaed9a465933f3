// SPDX-License-Identifier: Apache-2.0
// Damaged baselines: each is read, or refused with a sentence, and then compared with a report. The
// same mutations for the same number.
//   baseline_fuzz_driver N

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "analyzer/base/user_error.h"
#include "analyzer/report/baseline.h"
#include "analyzer/report/fingerprint.h"
#include "mutate.h"
#include "tests/report/made_up_reports.h"

namespace {

// Whether it could be read.
bool compare(const std::string& text, gmt::Report report) {
  try {
    const gmt::Baseline baseline = gmt::parse_baseline(text, "fuzzed");
    gmt::compare_with(baseline, {5}, report);
    gmt::check_growth(baseline, {5}, "max-growth 5%", report);
    gmt::parse_baseline(gmt::baseline_text(gmt::baseline_of(report)), "written");
    return true;
  } catch (const gmt::UserError&) {
    return false;
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s N\n", argv[0]);
    return 2;
  }
  gmt::Report report = gmt::test::troubled();
  gmt::set_fingerprints(report.findings);
  const std::string seed = gmt::baseline_text(gmt::baseline_of(report));
  std::mt19937_64 random(1);
  const auto mutations = std::strtoull(argv[1], nullptr, 10);
  unsigned long long readable = compare(seed, report) ? 1 : 0;
  std::string previous = seed;
  for (unsigned long long i = 0; i < mutations; ++i) {
    previous =
      gmt::test::mutate(i % 3 == 0 || previous.size() > (1u << 18) ? seed : previous, random);
    readable += compare(previous, report) ? 1 : 0;
  }
  std::printf("%llu mutations, %llu could be read\n", mutations, readable);
  return readable > mutations / 1000 ? 0 : 1; // else nothing behind the parser was tried
}
