// SPDX-License-Identifier: Apache-2.0
// A finished analysis, ready to be rendered: findings grouped, suppressed and symbolised, and
// everything that is needed to trust them (how the program ended, what was lost, what was not
// checked).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis/process_report.h"
#include "analyzer/model/reported_finding.h"
#include "analyzer/report/conclusion.h"

namespace gmt {

struct SuppressionUse {
  std::string rule; // as written
  std::string file;
  std::uint64_t findings = 0;
};

struct Report {
  std::string tool_version;
  std::vector<ProcessReport> processes;  // the program itself first, then its descendants
  std::vector<ReportedFinding> findings; // errors first, then by bytes
  std::vector<NotChecked> not_checked;
  std::vector<SuppressionUse> suppressions; // only rules that were used
  std::uint64_t suppressed = 0;
  std::uint64_t in_baseline = 0;     // findings left out because the baseline has them
  std::uint64_t below_min_bytes = 0; // findings left out by --min-bytes
  std::uint64_t other_kinds = 0;     // findings left out by --only and --skip
  // Sentences about the run: unhooked children, no CUDA call seen and why
  std::vector<std::string> remarks;
  bool no_cuda_calls = false;
  bool with_sources = true; // lines of the sources may be read, and shown
  Conclusion conclusion;
  bool is_concluded = true; // false: read from a file that has no conclusion

  std::uint64_t count(Severity severity) const;
};

} // namespace gmt
