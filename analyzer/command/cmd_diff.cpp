// SPDX-License-Identifier: Apache-2.0
// `diff`: compares two runs, each a trace, a folder of traces, a JSON report or a database. Returns
// 0 if nothing is worse, 1 if a finding at or above --fail-on is new or has grown, memory has, or
// the run after failed as the one before did not; everything else is a UserError.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/database/database_report.h"
#include "analyzer/command/pack/packed_traces.h"
#include "analyzer/command/report_options.h"
#include "analyzer/command/run/chosen_traces.h"
#include "analyzer/report/html/compare_page.h"
#include "analyzer/report/report_diff.h"
#include "analyzer/report/report_file.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

struct OpenedRun {
  Report report;
  std::string json; // empty: the report is of traces
};

OpenedRun run_of(const std::string& word, const Settings& settings) {
  std::error_code error;
  if (!fs::exists(word, error))
    throw UserError("there is no '" + word +
                      "'; diff takes a trace, a JSON report ('--format json=FILE') or a database "
                      "('--format sqlite=FILE')",
                    ExitStatus::kUnreadableTrace);
  if (!fs::is_regular_file(word, error) || is_pack(word)) {
    ReportOptions options = report_options(settings);
    options.all_stacks = options.analysis.history.columns != 0; // for the page
    return {build_report(opened_traces(chosen_traces({word})), options), {}};
  }
  std::string json;
  if (is_database(word)) {
    json = json_in_database(word);
  } else {
    std::ifstream in(word, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) throw UserError("cannot read '" + word + "'", ExitStatus::kUnreadableTrace);
    json = std::move(text).str();
  }
  Report report = parse_report(json, word);
  return {std::move(report), std::move(json)};
}

// A report that diff writes, and where.
struct DiffFile {
  std::string format;
  std::unique_ptr<OutputFile> file;
};

// The report proper first.
std::vector<DiffFile> diff_files(const Settings& settings) {
  std::vector<DiffFile> files;
  files.push_back({settings.format, std::make_unique<OutputFile>(settings.output, STDOUT_FILENO)});
  files.back().file->refuse_on_terminal(settings.format);
  for (const FormatFile& file : settings.format_files) {
    files.push_back({file.format, std::make_unique<OutputFile>(file.path, STDOUT_FILENO)});
  }
  return files;
}

std::string page_of(const OpenedRun& before, const OpenedRun& after, const ReportDiff& diff,
                    const Settings& settings) {
  const std::string json =
    after.json.empty() ? render_file(after.report, settings, "json") : after.json;
  std::ostringstream page;
  html::write_compare_page({before.report, settings.words[0]}, {after.report, settings.words[1]},
                           diff, json, page);
  return std::move(page).str();
}

} // namespace

int command_diff(const Settings& settings) {
  if (settings.words.size() != 2)
    throw UserError(
      "diff takes two words: the run before and the run after, each a trace, a JSON report or "
      "a database",
      ExitStatus::kUsage);
  const std::vector<DiffFile> files = diff_files(settings);
  const OpenedRun before = run_of(settings.words[0], settings);
  const OpenedRun after = run_of(settings.words[1], settings);
  for (const OpenedRun* run : {&before, &after}) {
    if (run->report.no_cuda_calls)
      throw UserError("nothing to compare: one of the two has no CUDA call",
                      ExitStatus::kUnreadableTrace);
  }
  const Tolerance tolerance{settings.baseline_tolerance};
  const ReportDiff diff = diff_reports(before.report, after.report, tolerance);
  for (const DiffFile& file : files) {
    const bool is_page = file.format == "html";
    file.file->write(is_page ? page_of(before, after, diff, settings) : diff_text(diff));
  }
  const bool is_worse = diff.is_worse(settings.fail_on, tolerance);
  return static_cast<int>(is_worse ? ExitStatus::kFindings : ExitStatus::kClean);
}

} // namespace gmt
