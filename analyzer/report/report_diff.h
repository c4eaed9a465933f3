// SPDX-License-Identifier: Apache-2.0
// Two reports compared: which findings are new, gone or have grown, and how memory has changed.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/baseline.h"
#include "analyzer/report/report.h"

namespace gmt {

struct HolderChange { // of device memory at the peak
  std::string functions;
  std::uint64_t before = 0, after = 0;
};

struct ReportDiff {
  std::vector<ReportedFinding> changed; // new and grown ones, as the report sorts them
  std::vector<BaselineFinding> before;  // of each of them that has grown; else without a kind
  std::vector<BaselineFinding> gone;
  std::uint64_t unchanged = 0;
  std::uint64_t peak_before = 0, peak_after = 0, live_before = 0, live_after = 0;
  std::vector<HolderChange> holders; // those that changed, the largest change first
  // Why each is no whole run that went well, beside its findings
  std::vector<Failure> failures_before, failures_after;
  bool knows_failures_before = true; // else none is called new

  // The run after failed as the one before did not: what is gone may only not have been reached.
  bool fails_anew() const;
  // It does, a finding at or above the severity is new or has grown, or memory has.
  bool is_worse(Severity least, Tolerance tolerance) const;
};

ReportDiff diff_reports(const Report& before, Report after, Tolerance tolerance);
std::string diff_text(const ReportDiff& diff);

} // namespace gmt
