// SPDX-License-Identifier: Apache-2.0
// Damaged baselines and JSON reports: each is read, or refused with a sentence, and then compared
// with a report. The same mutations for the same number.
//   baseline_fuzz_driver N

#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>

#include "analyzer/base/user_error.h"
#include "analyzer/report/baseline.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/output_format.h"
#include "analyzer/report/report_diff.h"
#include "analyzer/report/report_file.h"
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

bool diff(const std::string& text, const gmt::Report& report) {
  try {
    const gmt::Report before = gmt::parse_report(text, "fuzzed");
    gmt::diff_text(gmt::diff_reports(before, report, {5}));
    gmt::diff_text(gmt::diff_reports(report, before, {5}));
    return true;
  } catch (const gmt::UserError&) {
    return false;
  }
}

std::string json_of(const gmt::Report& report) {
  std::ostringstream text;
  for (const gmt::OutputInfo* output : gmt::outputs())
    if (output->id == "json") output->write(report, {}, text);
  return text.str();
}

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
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s N\n", argv[0]);
    return 2;
  }
  gmt::Report report = gmt::test::troubled();
  gmt::set_fingerprints(report.findings);
  const auto mutations = std::strtoull(argv[1], nullptr, 10);
  const std::string baseline = gmt::baseline_text(gmt::baseline_of(report));
  const bool first = run("baselines", baseline, mutations,
                         [&](const std::string& text) { return compare(text, report); });
  const bool second = run("reports", json_of(report), mutations / 4,
                          [&](const std::string& text) { return diff(text, report); });
  return first && second ? 0 : 1;
}
