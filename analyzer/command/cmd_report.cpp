// SPDX-License-Identifier: Apache-2.0
// `report`: analyses traces made earlier, here or on another machine. Returns 0 if its report says
// that the run passed, 1 if it says that it failed, 3 if no call could be read and so nothing was
// checked, or if a part of a trace is gone; everything else is a UserError.

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/pack/packed_traces.h"
#include "analyzer/command/report_options.h"
#include "analyzer/command/reporting/baseline_check.h"
#include "analyzer/command/reporting/report_files.h"
#include "analyzer/command/run/chosen_traces.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

namespace {

// A program that made no call has nothing to be checked; where the logs end too early that is not
// known.
bool read_nothing(const Report& report) {
  return report.no_cuda_calls &&
         !std::ranges::all_of(report.processes, &ProcessReport::exit_recorded);
}

// Findings stand whatever else was not read. A program that crashed, or ended with a status of its
// own, failed in this command's status as in its words.
ExitStatus status_of(const Report& report) {
  using Reason = Failure::Reason;
  if (report.conclusion.find(Reason::kFindings) != nullptr) return ExitStatus::kFindings;
  const bool is_incomplete = report.conclusion.find(Reason::kIncomplete) != nullptr;
  if (is_incomplete || read_nothing(report)) return ExitStatus::kUnreadableTrace;
  return report.conclusion.passed() ? ExitStatus::kClean : ExitStatus::kFindings;
}

void say_what_is_missing(const Report& report) {
  for (const ProcessReport& process : report.processes) {
    if (process.missing.empty()) continue;
    return say(process.trace + " is not complete: " + process.missing);
  }
  say("nothing was checked: no CUDA call could be read");
}

} // namespace

int command_report(const Settings& settings) {
  std::vector<TraceHead> heads = chosen_traces(settings.words);
  OutputFile output(settings.output, STDOUT_FILENO);
  if (!settings.print_suppressions) output.refuse_on_terminal(settings.format);
  const ReportFiles files(settings);
  const BaselineCheck baseline(settings);
  const std::vector<TraceDir> traces = opened_traces(std::move(heads));
  Report report = build_report(traces, report_options(settings));
  for (ProcessReport& process : report.processes) process.trace = shown_trace(process.trace);
  baseline.compare(report);
  report.conclusion = conclude(report, {.fail_on = settings.fail_on,
                                        .accepts_findings = baseline.is_update(),
                                        .accepts_unrun = settings.allow_unrun_kernels});
  const ExitStatus status = status_of(report);
  report.conclusion.status = static_cast<int>(status);
  if (!settings.files_only) output.write(render(report, settings, output.descriptor()));
  files.write(report);
  baseline.update(report);
  if (status == ExitStatus::kUnreadableTrace) say_what_is_missing(report);
  return static_cast<int>(status);
}

} // namespace gmt
