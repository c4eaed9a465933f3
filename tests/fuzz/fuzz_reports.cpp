// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz_reports.h"

#include <sstream>

#include "analyzer/base/text_lines.h"
#include "analyzer/base/user_error.h"
#include "analyzer/report/baseline.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/output_format.h"
#include "analyzer/report/report_diff.h"
#include "analyzer/report/report_file.h"
#include "analyzer/report/suppressions.h"
#include "tests/report/made_up_reports.h"

namespace gmt::test {
namespace {

Report made_report() {
  Report report = troubled();
  set_fingerprints(report.findings);
  return report;
}

const Report& a_report() {
  static const Report report = made_report();
  return report;
}

} // namespace

bool compare_with_baseline(const std::string& text) {
  try {
    Report report = a_report();
    const Baseline baseline = parse_baseline(text, "fuzzed");
    compare_with(baseline, {5}, report);
    check_growth(baseline, {5}, "max-growth 5%", report);
    parse_baseline(baseline_text(baseline_of(report)), "written");
    return true;
  } catch (const UserError&) {
    return false;
  }
}

bool compare_reports(const std::string& text) {
  try {
    const Report before = parse_report(text, "fuzzed");
    diff_text(diff_reports(before, a_report(), {5}));
    diff_text(diff_reports(a_report(), before, {5}));
    return true;
  } catch (const UserError&) {
    return false;
  }
}

bool suppress_findings(const std::string& text) {
  try {
    Suppressions suppressions;
    unsigned number = 0;
    for_each_line(text,
                  [&](std::string_view line) { suppressions.add_line(line, "fuzzed", ++number); });
    for (const ReportedFinding& finding : a_report().findings) (void)suppressions.suppress(finding);
    for (const ReportedFinding& finding : hostile().findings) (void)suppressions.suppress(finding);
    return suppressions.used().size() <= suppressions.size();
  } catch (const UserError&) {
    return false;
  }
}

void read_baseline_input(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  compare_with_baseline(text);
  compare_reports(text);
}

void read_suppressions_input(const std::uint8_t* data, std::size_t size) {
  suppress_findings(std::string(reinterpret_cast<const char*>(data), size));
}

std::string baseline_seed() { return baseline_text(baseline_of(a_report())); }

std::string report_seed() {
  std::ostringstream text;
  for (const OutputInfo* output : outputs())
    if (output->id == "json") output->write(a_report(), {}, text);
  return text.str();
}

} // namespace gmt::test
