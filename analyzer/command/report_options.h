// SPDX-License-Identifier: Apache-2.0
// From a Report to text in the chosen format.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/command/options/options.h"
#include "analyzer/report/report.h"
#include "analyzer/report/report_builder.h"

namespace gmt {

ReportOptions report_options(const Settings& settings);

// The report as --format, --limit, --stack-depth and --color ask; `descriptor` is where it is
// going.
std::string render(const Report& report, const Settings& settings, int descriptor);

// The same for a file of --format FORMAT=FILE.
std::string render_file(const Report& report, const Settings& settings, std::string_view format);

// "2 errors, 0 warnings; killed by SIGABRT"
std::string count_text(const Report& report);

} // namespace gmt
