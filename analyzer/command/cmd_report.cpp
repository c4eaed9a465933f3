// SPDX-License-Identifier: Apache-2.0
// `report`: analyses traces made earlier, here or on another machine. Returns 0 if nothing at or
// above --fail-on was found, 1 if something was, 3 if no call could be read and so nothing was
// checked, or if a part of a trace is gone; everything else is a UserError.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/command/baseline_check.h"
#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/report_files.h"
#include "analyzer/command/report_options.h"
#include "analyzer/command/run/leftover_rings.h"
#include "analyzer/command/run/run_traces.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

// The traces of the folder's newest run; which they are is said.
void add_newest(const fs::path& folder, std::vector<TraceHead>& chosen) {
  std::vector<TraceHead> traces = newest_run(folder);
  if (traces.empty()) return;
  for (TraceHead& trace : traces) trace.path = trace.path.lexically_normal();
  std::string text = "reading the newest trace, " + traces.front().path.string();
  if (traces.size() > 1)
    text += ", and " + std::to_string(traces.size() - 1) + " more of the same run";
  say(text);
  std::ranges::move(traces, std::back_inserter(chosen));
}

// A folder that is no trace, not even a damaged one.
bool is_other_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && !is_trace(path) && !fs::exists(path / "apis", error);
}

void add_traces(const fs::path& path, std::vector<TraceHead>& chosen) {
  const std::size_t before = chosen.size();
  if (!is_trace(path)) add_newest(path, chosen);
  if (chosen.size() != before) return;
  if (is_other_folder(path)) {
    throw UserError(
      "no trace in " + (path == "." ? "the current directory" : path.string()) +
        "; name a folder gpumemtrace.<program>.<host>.<pid>, or one that holds such folders",
      ExitStatus::kUnreadableTrace);
  }
  chosen.push_back(read_head(path)); // a trace, or an error that names it
}

// A trace that is named twice, in whatever spelling, is one process.
void keep_each_once(std::vector<TraceHead>& traces) {
  std::set<fs::path> seen;
  std::erase_if(traces, [&seen](const TraceHead& trace) {
    std::error_code error;
    const fs::path canonical = fs::canonical(trace.path, error);
    return !seen.insert(error ? trace.path : canonical).second;
  });
}

std::vector<TraceHead> chosen_traces(const std::vector<std::string>& words) {
  std::vector<TraceHead> traces;
  if (words.empty()) add_traces(".", traces);
  for (const std::string& word : words) add_traces(word, traces);
  keep_each_once(traces);
  return traces;
}

// A program that made no call has nothing to be checked; where the logs end too early that is not
// known.
bool read_nothing(const Report& report) {
  return report.no_cuda_calls &&
         !std::ranges::all_of(report.processes, &ProcessReport::exit_recorded);
}

} // namespace

int command_report(const Settings& settings) {
  std::vector<TraceHead> heads = chosen_traces(settings.words);
  for (const TraceHead& head : heads) {
    const std::string problem = collect_rings(head.path);
    if (!problem.empty()) say(problem);
  }
  OutputFile output(settings.output, STDOUT_FILENO);
  const ReportFiles files(settings);
  const BaselineCheck baseline(settings);
  std::vector<TraceDir> traces;
  for (TraceHead& head : heads) traces.push_back(open_trace(std::move(head)).value());
  Report report = build_report(traces, report_options(settings));
  baseline.compare(report);
  output.write(render(report, settings, output.descriptor()));
  files.write(report);
  if (!report.no_cuda_calls) baseline.update(report);
  if (!baseline.is_update() && has_finding(report, settings.fail_on))
    return static_cast<int>(ExitStatus::kFindings);
  const auto incomplete = std::ranges::find_if(
    report.processes, [](const ProcessReport& process) { return !process.missing.empty(); });
  if (incomplete != report.processes.end()) {
    say(incomplete->trace + " is not complete: " + incomplete->missing);
    return static_cast<int>(ExitStatus::kUnreadableTrace);
  }
  if (!read_nothing(report)) return static_cast<int>(ExitStatus::kClean);
  say("nothing was checked: no CUDA call could be read");
  return static_cast<int>(ExitStatus::kUnreadableTrace);
}

} // namespace gmt
