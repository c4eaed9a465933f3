// SPDX-License-Identifier: Apache-2.0
// `diff`: compares two runs, each a trace, a folder of traces, a JSON report or a database. Returns
// 0 if nothing is worse, 1 if a finding at or above --fail-on is new or has grown, or memory has;
// everything else is a UserError.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/database/database_report.h"
#include "analyzer/command/report_options.h"
#include "analyzer/command/run/chosen_traces.h"
#include "analyzer/report/report_diff.h"
#include "analyzer/report/report_file.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

Report report_of(const std::string& word, const Settings& settings) {
  std::error_code error;
  if (!fs::is_regular_file(word, error))
    return build_report(opened_traces(chosen_traces({word})), report_options(settings));
  if (is_database(word)) return parse_report(json_in_database(word), word);
  std::ifstream in(word, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw UserError("cannot read '" + word + "'", ExitStatus::kUnreadableTrace);
  return parse_report(text.str(), word);
}

} // namespace

int command_diff(const Settings& settings) {
  if (settings.words.size() != 2)
    throw UserError(
      "diff takes two words: the run before and the run after, each a trace, a JSON report or "
      "a database",
      ExitStatus::kUsage);
  const Report before = report_of(settings.words[0], settings);
  const Report after = report_of(settings.words[1], settings);
  for (const Report* report : {&before, &after}) {
    if (report->no_cuda_calls)
      throw UserError("nothing to compare: one of the two has no CUDA call",
                      ExitStatus::kUnreadableTrace);
  }
  const Tolerance tolerance{settings.baseline_tolerance};
  const ReportDiff diff = diff_reports(before, after, tolerance);
  OutputFile output(settings.output, STDOUT_FILENO);
  output.write(diff_text(diff));
  const bool is_worse = diff.is_worse(settings.fail_on, tolerance);
  return static_cast<int>(is_worse ? ExitStatus::kFindings : ExitStatus::kClean);
}

} // namespace gmt
