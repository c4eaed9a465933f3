// SPDX-License-Identifier: Apache-2.0
// The few sums of a Report that must be the same everywhere.
#include "analyzer/report/report.h"

#include <algorithm>

namespace gmt {

std::uint64_t Report::count(Severity severity) const {
  return static_cast<std::uint64_t>(
    std::count_if(findings.begin(), findings.end(),
                  [severity](const ReportedFinding& f) { return f.severity == severity; }));
}

} // namespace gmt
