// SPDX-License-Identifier: Apache-2.0
// The page of a report with one more view, in which another run stands beside it.
#pragma once

#include <iosfwd>
#include <string>

#include "analyzer/report/html/compare_data.h"

namespace gmt::html {

// `json` is the JSON report of the run after.
void write_compare_page(const ComparedRun& before, const ComparedRun& after, const ReportDiff& diff,
                        const std::string& json, std::ostream& out);

} // namespace gmt::html
