// SPDX-License-Identifier: Apache-2.0
// A run's facts in sentences; see run_facts.h. The wording is stable, so that CI logs can be
// searched for it.

#include "analyzer/command/run_facts.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/command/command.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoCallReasons =
  "the program made none, or the checker did not reach it: a statically linked or set-user-id program "
  "among its "
  "children, a launcher that drops LD_PRELOAD, or a library opened with RTLD_DEEPBIND";

bool saw_calls(const Report& report) {
  return !report.no_cuda_calls &&
         std::any_of(report.processes.begin(), report.processes.end(),
                     [](const ProcessReport& p) { return p.totals.events != 0; });
}

// As short as it can be pasted: without the folder if that is where the reader stands.
std::string shown(const fs::path& path) {
  std::error_code error;
  return (path.parent_path() == fs::current_path(error) ? path.filename() : path).string();
}

std::string where(const std::vector<TraceHead>& traces) {
  std::string text = shown(traces.front().path);
  if (traces.size() > 1) text += " and " + std::to_string(traces.size() - 1) + " more";
  return text;
}

std::string again(const std::vector<TraceHead>& traces) {
  std::string text = "gpumemtrace report";
  if (traces.size() > 4) return text + " " + traces.front().path.parent_path().string();
  for (const TraceHead& trace : traces) text += " " + shown(trace.path);
  return text;
}

Ending ending_of(const ProcessEnd& end) {
  const int status = end.wait_status;
  return {.how = WIFSIGNALED(status) ? Ending::How::kSignalled : Ending::How::kExited,
          .status = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

// A report needs a process to name, also where none left a trace.
ProcessReport bare_process(const RunFacts& facts) {
  ProcessReport process;
  const ProcessEnd& end = facts.outcome.program();
  process.pid = static_cast<std::uint32_t>(end.pid);
  process.host = host_name();
  process.executable = facts.path;
  process.arguments = facts.arguments;
  process.device = facts.simulated ? "simulated" : "real";
  process.ended = ending_of(end);
  return process;
}

// What a process could not record at all, if the note is about that. The interposer has EDQUOT for
// its own limit only.
std::string gap_sentence(const Note& note) {
  if (note.word == "nodir") {
    const bool is_limited = note.text.find(::strerrordesc_np(EFBIG)) != std::string::npos;
    return "no trace could be made for it: " + note.text +
           (is_limited ? "; raise its limit of file sizes (ulimit -f)"
                       : "; name another folder with --trace-dir");
  }
  if (note.word != "nolog") return {};
  std::string reason = note.text;
  const std::string_view quota = ::strerrordesc_np(EDQUOT);
  if (const std::size_t at = reason.find(quota); at != std::string::npos)
    reason.replace(at, quota.size(), "the trace has reached its size limit (--max-trace)");
  return "calls of a thread were not recorded: " + reason;
}

// Whether calls were made that no trace holds.
bool knows_of_lost_calls(const RunFacts& facts, const Report& report) {
  return std::ranges::any_of(facts.notes,
                             [](const Note& note) { return !gap_sentence(note).empty(); }) ||
         std::ranges::any_of(report.processes,
                             [](const ProcessReport& p) { return p.lost_events() != 0; });
}

// The file and, behind a tab, what is in it.
std::string captured_sentence(const std::string& text) {
  const std::size_t tab = text.find('\t');
  const std::string file = shown(text.substr(0, tab));
  return "captured in " + file + ": " + (tab == text.npos ? "" : text.substr(tab + 1)) +
         "; it holds the program's data; 'gpumemtrace replay " + file + "' runs it";
}

// Of a launch in a file, empty for other notes. One that has begun and not ended has a file if the
// driver took it.
std::string sentence_of_capture(const Note& note, const std::vector<Note>& all) {
  if (note.word == "captured") return captured_sentence(note.text);
  if (note.word != "capturing") return {};
  const auto is_its_end = [&note](const Note& other) {
    return other.pid == note.pid && (other.word == "captured" || other.word == "uncaptured");
  };
  std::error_code error;
  if (std::ranges::any_of(all, is_its_end) ||
      !fs::exists(note.text.substr(0, note.text.find('\t')), error))
    return {};
  return captured_sentence(note.text + "; it had not ended when its process did");
}

void add_notes(const RunFacts& facts, Report& report) {
  std::map<std::string, std::uint64_t> unhooked, privileged;
  for (const Note& note : facts.notes) {
    if (note.word == "unhooked") ++unhooked[note.text];
    if (note.word == "privileged") ++privileged[note.text];
    const std::string process = "process " + std::to_string(note.pid);
    if (const std::string gap = gap_sentence(note); !gap.empty())
      report.not_checked.push_back({process, gap});
    if (note.word == "badvalue")
      report.remarks.push_back(note.text + " in the environment of " + process +
                               " is no value of this variable: the default was in force");
    if (note.word == "nounwinder")
      report.not_checked.push_back(
        {process, "its call stacks are short: '" + note.text + "' could not be loaded"});
    if (note.word == "nocollector")
      report.not_checked.push_back(
        {"coalescing", "'" + note.text + "' could not be loaded in " + process});
    if (note.word == "nonvtx")
      report.remarks.push_back("the library named by NVTX_INJECTION64_PATH was not loaded in " +
                               process + ": " + note.text);
    if (std::string captured = sentence_of_capture(note, facts.notes); !captured.empty())
      report.remarks.push_back(std::move(captured));
    if (note.word == "uncaptured")
      report.remarks.push_back("--capture stored nothing of " + process + ": " + note.text);
    if (note.word == "moved")
      report.remarks.push_back("the folder for traces could not be written by " + process +
                               ": its trace is in " + note.text);
  }
  const auto add = [&report](const std::string& program, const std::string& why,
                             std::uint64_t times) {
    report.remarks.push_back("'" + program + "' was started without the checker (" + why + ")" +
                             (times > 1 ? ", " + std::to_string(times) + " times" : "") +
                             ": what it and its children do is not in this report");
  };
  for (const auto& [program, times] : unhooked) add(program, "LD_PRELOAD was dropped", times);
  for (const auto& [text, times] : privileged) {
    const std::size_t blank = text.find(' ');
    add(text.substr(blank + 1),
        "it is a " + text.substr(0, blank) + " program, and the kernel allows no preload there",
        times);
  }
}

void add_running(const RunFacts& facts, Report& report) {
  for (const RunningProcess& running : facts.outcome.running) {
    report.remarks.push_back("process " + std::to_string(running.pid) + " (" + running.name +
                             ") is still running: what it does from now on is not in this report");
    for (ProcessReport& process : report.processes)
      if (static_cast<pid_t>(process.pid) == running.pid &&
          process.ended.how == Ending::How::kUnknown)
        process.ended.how = Ending::How::kRunning;
  }
}

// Children of the program that did not exit. How the program itself ended is in the conclusion; a
// check passes over its children's ends, so each format must say them.
void add_killed(const RunFacts& facts, Report& report) {
  constexpr std::size_t kMostNamed = 4;
  std::size_t count = 0;
  for (const ProcessReport& process : report.processes) {
    const Ending& end = process.ended;
    if (static_cast<pid_t>(process.pid) == facts.outcome.program().pid) continue;
    if (end.how != Ending::How::kSignalled && end.how != Ending::How::kUnknown) continue;
    if (++count > kMostNamed) continue;
    report.remarks.push_back(
      "process " + std::to_string(process.pid) + " (" + std::string(base_name(process.executable)) +
      ") " +
      (end.how == Ending::How::kSignalled
         ? "was " + ending_words(end)
         : "did not say that it ends: it crashed, was killed, or left by the system call alone"));
  }
  if (count > kMostNamed)
    report.remarks.push_back(format_plural(count - kMostNamed, "other process") +
                             " ended in the same ways");
}

// Its own name, as --capture takes it.
std::string bare_name(std::string kernel) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (std::size_t at = kernel.find(kUnnamed); at != kernel.npos; at = kernel.find(kUnnamed))
    kernel.erase(at, kUnnamed.size());
  kernel = kernel.substr(0, kernel.find_first_of("(<"));
  return kernel.substr(kernel.rfind(' ') + 1); // behind what it returns
}

// Of the first kernel whose mistake checks in its code or a core dump have shown.
void suggest_capture(Report& report) {
  for (const ReportedFinding& finding : report.findings) {
    if (!finding.fault || finding.fault->source == DeviceFault::Source::kSimulatedDevice) continue;
    const std::string name = bare_name(finding.fault->thread.kernel);
    if (name.empty()) continue;
    report.remarks.push_back("to look at '" + name + "' without a GPU: 'gpumemtrace --capture " +
                             name +
                             ":N PROGRAM' stores its N-th launch, and 'gpumemtrace replay FILE' "
                             "runs it with all checks");
    return;
  }
}

} // namespace

void add_run_facts(const RunFacts& facts, Report& report) {
  if (report.tool_version.empty()) report.tool_version = tool_version();
  report.no_cuda_calls = !saw_calls(report);
  if (report.processes.empty()) report.processes.push_back(bare_process(facts));
  if (!facts.unchecked.empty()) report.remarks.push_back(facts.unchecked);
  report.remarks.insert(report.remarks.end(), facts.remarks.begin(), facts.remarks.end());
  if (report.no_cuda_calls && facts.unchecked.empty() && !knows_of_lost_calls(facts, report))
    report.remarks.push_back("no CUDA call was seen: " + std::string(kNoCallReasons));
  for (const std::string& problem : facts.unreadable)
    report.not_checked.push_back({"an unreadable trace", problem});
  add_notes(facts, report);
  add_running(facts, report);
  add_killed(facts, report);
  suggest_capture(report);
  if (!facts.traces.empty())
    report.remarks.push_back("trace: " + where(facts.traces) +
                             " ('gpumemtrace report' reads it again)");
}

RunKnowledge knowledge_of(const RunFacts& facts) {
  RunKnowledge known;
  known.unchecked = facts.unchecked;
  known.program = ending_of(facts.outcome.program());
  if (!facts.unreadable.empty()) known.incomplete = facts.unreadable.front();
  for (const Note& note : facts.notes) {
    const std::string gap = gap_sentence(note);
    if (gap.empty() || !known.incomplete.empty()) continue;
    known.incomplete = cat({"process ", std::to_string(note.pid), " was not checked: ", gap});
  }
  return known;
}

std::vector<std::string> record_lines(const RunFacts& facts) {
  std::vector<std::string> lines;
  for (const Note& note : facts.notes) {
    const std::string gap = gap_sentence(note);
    if (gap.empty()) continue;
    lines.push_back("process " + std::to_string(note.pid) + " was not recorded: " + gap);
    break;
  }
  for (const Note& note : facts.notes) {
    if (std::string captured = sentence_of_capture(note, facts.notes); !captured.empty())
      lines.push_back(std::move(captured));
    if (note.word == "uncaptured") lines.push_back("--capture stored nothing: " + note.text);
  }
  if (facts.traces.empty()) {
    if (facts.was_idle)
      lines.emplace_back("no trace was asked for: 'gpumemtrace attach PID' does, while the "
                         "program runs");
    else if (facts.unchecked.empty() && lines.empty())
      lines.push_back("no CUDA call was seen, so there is no trace: " +
                      std::string(kNoCallReasons));
    return lines;
  }
  std::uint64_t lost = 0;
  for (const TraceHead& trace : facts.traces) lost += lost_records(trace.path);
  const std::string losses =
    lost ? " (" + std::to_string(lost) + " records lost, see the report)" : "";
  lines.push_back("trace: " + where(facts.traces) + losses);
  const bool is_crash =
    facts.traces.size() == 1 && WIFSIGNALED(facts.outcome.program().wait_status);
  lines.push_back("next: " + (is_crash ? "gpumemtrace last " + shown(facts.traces.front().path)
                                       : again(facts.traces)));
  return lines;
}

} // namespace gmt
