// SPDX-License-Identifier: Apache-2.0
// Rendering and verdict; see report_options.h.

#include "analyzer/command/report_options.h"

#include <algorithm>
#include <sstream>

#include "analyzer/base/text_format.h"
#include "analyzer/base/user_error.h"
#include "analyzer/report/output_format.h"
#include "analyzer/report/suppressions.h"

namespace gmt {
namespace {

constexpr std::size_t kHistoryColumns = 2048; // more than a screen is wide

bool needs_history(const std::string& format) {
  return std::ranges::any_of(outputs(), [&format](const OutputInfo* output) {
    return output->id == format && output->needs_history;
  });
}

} // namespace

ReportOptions report_options(const Settings& settings) {
  ReportOptions options;
  options.min_bytes = settings.min_bytes;
  options.suppression_files.assign(settings.suppressions.begin(), settings.suppressions.end());
  options.only = settings.only;
  options.skip = settings.skip;
  options.analysis.group_by_range = settings.group_by_range;
  options.analysis.policies = settings.policies;
  options.analysis.coalescing_floor =
    settings.coalescing_floor.value_or(MemoryAccess::kDefaultFloor);
  if (needs_history(settings.format)) options.analysis.history.columns = kHistoryColumns;
  options.symbols = settings.symbols;
  // The binaries are here now
  options.write_symbols = settings.symbols && settings.command != CommandId::kReport;
  return options;
}

std::string render(const Report& report, const Settings& settings, int descriptor) {
  std::ostringstream text;
  if (settings.print_suppressions) {
    print_suppressions(report, text);
    return text.str();
  }
  OutputOptions options;
  options.color = use_color(settings.color, descriptor);
  options.limit = settings.limit;
  options.tables = settings.tables;
  if (settings.command == CommandId::kReport)
    options.stack_depth = settings.stack_depth.value_or(0);
  for (const OutputInfo* output : outputs()) {
    if (output->id != settings.format) continue;
    output->write(report, options, text);
    return text.str();
  }
  throw UserError("this build has no report format '" + settings.format + "'",
                  ExitStatus::kInternal);
}

bool has_finding(const Report& report, Severity least) {
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [least](const ReportedFinding& finding) { return finding.severity >= least; });
}

std::string count_text(const Report& report) {
  return format_plural(report.count(Severity::kError), "error") + ", " +
         format_plural(report.count(Severity::kWarning), "warning");
}

} // namespace gmt
