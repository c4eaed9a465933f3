// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/conclusion.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "analyzer/base/signal_name.h"
#include "analyzer/base/text_format.h"
#include "analyzer/report/report.h"

namespace gmt {
namespace {

using Reason = Failure::Reason;

// Up to the colon: what follows explains it, or says what to do.
std::string beginning_of(const std::string& sentence) {
  return sentence.substr(0, sentence.find(": "));
}

std::string what_is_missing(const Report& report, const RunKnowledge& known) {
  if (!known.incomplete.empty()) return known.incomplete;
  for (const ProcessReport& process : report.processes) {
    if (process.missing.empty()) continue;
    return cat(
      {"process ", std::to_string(process.pid), " was not checked to the end: ", process.missing});
  }
  return {};
}

std::string_view severity_in_words(Severity severity) {
  switch (severity) {
  case Severity::kError: return "error";
  case Severity::kWarning: return "warning";
  case Severity::kNote: break;
  }
  return "note";
}

void add_findings(Conclusion& conclusion, const Report& report, Severity fail_on) {
  const auto count = static_cast<std::uint64_t>(
    std::ranges::count_if(report.findings, [fail_on](const ReportedFinding& finding) {
      return finding.severity >= fail_on && finding.baseline != BaselineState::kKnown;
    }));
  if (count == 0) return;
  const bool is_usual = fail_on == Severity::kError;
  std::string text = is_usual ? format_plural(count, "error")
                              : cat({format_plural(count, "finding"), " at or above ",
                                     severity_in_words(fail_on), " (--fail-on)"});
  conclusion.failures.push_back({Reason::kFindings, text, text});
}

void add_unrun(Conclusion& conclusion) {
  const LaunchCounts& launches = *conclusion.launches;
  const std::string brief = cat({format_count(launches.unable), " of ", format_count(launches.all),
                                 launches.all == 1 ? " launch" : " launches", " did not run"});
  conclusion.failures.push_back(
    {Reason::kUnrun, brief,
     cat({brief, " to ", launches.unable == 1 ? "its" : "their",
          " end on the simulated device, which cannot execute all of it: \"not checked\" has the "
          "reasons (--allow-unrun-kernels accepts it)"})});
}

void add_end(Conclusion& conclusion, const Ending& end) {
  if (end.at_run_limit) {
    conclusion.failures.push_back(
      {Reason::kRunTime, cat({"ended at the limit of --run-time (", ending_words(end), ")"}),
       cat({"the simulated device ended the program at the limit of --run-time, with ",
            ending_words(end)})});
    return;
  }
  const bool is_exit = end.how == Ending::How::kExited && end.status != 0;
  if (!is_exit && end.how != Ending::How::kSignalled) return;
  if (!is_exit) conclusion.signal = end.signal;
  conclusion.failures.push_back(
    {Reason::kProgram, ending_words(end),
     cat({is_exit ? "the program ended with " : "the program was ", ending_words(end)})});
}

} // namespace

std::string_view id_of(Failure::Reason reason) {
  switch (reason) {
  case Reason::kUnchecked: return "unchecked";
  case Reason::kNoCalls: return "no-cuda-calls";
  case Reason::kIncomplete: return "incomplete";
  case Reason::kFindings: return "findings";
  case Reason::kUnrun: return "unrun-kernels";
  case Reason::kRunTime: return "run-time";
  case Reason::kProgram: break;
  }
  return "program";
}

const Failure* Conclusion::find(Failure::Reason reason) const {
  const auto found = std::ranges::find(failures, reason, &Failure::reason);
  return found == failures.end() ? nullptr : &*found;
}

std::vector<const Failure*> Conclusion::beside_findings() const {
  std::vector<const Failure*> rest;
  for (const Failure& failure : failures)
    if (failure.reason != Reason::kFindings) rest.push_back(&failure);
  return rest;
}

std::optional<LaunchCounts> count_launches(const Report& report) {
  std::optional<LaunchCounts> sum;
  for (const ProcessReport& process : report.processes) {
    if (process.device != "simulated") continue;
    if (!sum) sum.emplace();
    LaunchCounts one;
    one.all = process.totals.launches;
    one.cut_short = process.totals.unfinished_launches;
    if (process.executions) {
      one.all = std::max(one.all, process.executions->launches);
      one.ran = std::min(process.executions->ran, one.all);
      for (const Executions::LeftOut& left_out : process.executions->left_out)
        (left_out.as_asked ? one.left_out : one.unable) += left_out.launches;
    }
    sum->all += one.all + one.cut_short;
    sum->ran += one.ran;
    sum->unable += one.unable;
    sum->left_out += one.left_out;
    sum->cut_short += one.cut_short;
  }
  return sum;
}

Conclusion conclude(const Report& report, const RunKnowledge& known) {
  Conclusion conclusion;
  conclusion.launches = count_launches(report);
  std::vector<Failure>& failures = conclusion.failures;
  if (const std::string missing = what_is_missing(report, known); !known.unchecked.empty()) {
    failures.push_back({Reason::kUnchecked, beginning_of(known.unchecked), known.unchecked});
  } else if (!missing.empty()) {
    failures.push_back({Reason::kIncomplete, "a part of the run was not checked", missing});
  } else if (report.no_cuda_calls) {
    failures.push_back(
      {Reason::kNoCalls, "no CUDA call was seen", "no CUDA call was seen, so nothing was checked"});
  }
  if (!known.accepts_findings) add_findings(conclusion, report, known.fail_on);
  const bool has_unrun = conclusion.launches && conclusion.launches->unable != 0;
  if (has_unrun && !known.accepts_unrun) add_unrun(conclusion);
  Ending end = report.processes.empty() ? Ending{} : report.processes.front().ended;
  if (known.program) {
    end.how = known.program->how;
    end.status = known.program->status;
    end.signal = known.program->signal;
  }
  add_end(conclusion, end);
  return conclusion;
}

std::string ending_words(const Ending& ending) {
  switch (ending.how) {
  case Ending::How::kExited: return cat({"exit status ", std::to_string(ending.status)});
  case Ending::How::kSignalled: break;
  case Ending::How::kExec: return "replaced by another program (exec)";
  case Ending::How::kRunning: return "still running";
  case Ending::How::kUnknown: return "unknown";
  }
  std::string text = cat({"killed by ", signal_name(ending.signal)});
  switch (ending.signal) {
  case SIGSEGV:
  case SIGABRT:
  case SIGBUS:
  case SIGFPE:
  case SIGILL: text += cat({" (", ::sigdescr_np(ending.signal), ")"}); break;
  default: break;
  }
  return text;
}

std::string in_words(const Conclusion& conclusion) {
  std::string text;
  for (const Failure& failure : conclusion.failures)
    text += cat({text.empty() ? "failed: " : "; ", failure.sentence});
  return text.empty() ? "passed" : text;
}

std::string launches_in_brief(const LaunchCounts& launches) {
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count == 0) return;
    text += text.empty() ? cat({format_count(count), " of ", format_count(launches.all),
                                launches.all == 1 ? " launch " : " launches "})
                         : cat({", ", format_count(count), " "});
    text += what;
  };
  add(launches.unable, "did not run");
  add(launches.left_out, launches.left_out == 1 ? "was left out" : "were left out");
  add(launches.cut_short, launches.cut_short == 1 ? "was cut short" : "were cut short");
  return text;
}

} // namespace gmt
