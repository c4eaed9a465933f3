// SPDX-License-Identifier: Apache-2.0
// `run`, `check` and `record`: starts the program under the interposer, waits, finishes its traces
// and reports. Everything that can be wrong with the options is found before the program starts;
// whatever goes wrong after it, the program's own status is the one returned.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/report_options.h"
#include "analyzer/command/reporting/baseline_check.h"
#include "analyzer/command/reporting/report_files.h"
#include "analyzer/command/run/core_dumps.h"
#include "analyzer/command/run/environment.h"
#include "analyzer/command/run/leftover_rings.h"
#include "analyzer/command/run/notes_file.h"
#include "analyzer/command/run/program_check.h"
#include "analyzer/command/run/removed_traces.h"
#include "analyzer/command/run/trace_packer.h"
#include "analyzer/command/run/wait_notices.h"
#include "analyzer/command/run_facts.h"
#include "analyzer/report/suppressions.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoDriver =
  "no NVIDIA driver on this machine: nothing was checked; '--device simulated' runs and checks the "
  "program on a simulated device";

// Why nothing can be checked here, in one sentence; empty if it can.
std::string why_not_checked(const Settings& settings, const ProgramCheck& check) {
  if (!check.refusal.empty()) return check.refusal;
  if (settings.device == DeviceChoice::kAuto && !driver_present()) return std::string(kNoDriver);
  return {};
}

// A fenced block's pages are more than the program asked for: the simulated device would take an
// access to the rest of them for a right one. Tests of the fence itself run there all the same.
void leave_out_fence(Instrumentation& in, RunFacts& facts) {
  if (!in.wants_fence() || std::getenv("GPUMEMTRACE_SIM_GUARD") != nullptr) return;
  in.without_fence = true;
  facts.remarks.emplace_back("--guard is left out: the simulated device checks every access of a "
                             "kernel to the byte, with no fence around the memory");
}

// The simulated device checks every access itself. Tests of the checks in kernels' code run there
// all the same.
bool leaves_out_kernel_checks() { return std::getenv("GPUMEMTRACE_SIM_KERNEL_CHECKS") == nullptr; }

Instrumentation instrument(const Settings& settings, const std::string& path,
                           const ProgramCheck& check, RunFacts& facts) {
  Instrumentation in;
  in.simulated = settings.device == DeviceChoice::kSimulated;
  in.install = find_install(in.simulated);
  for (const std::string& library : check.facts.needed) {
    if (!is_sanitizer_runtime(library)) continue;
    in.sanitizer = find_library(library, &check.facts, path).value_or(library);
    break;
  }
  in.run_id = make_run_id();
  in.trace_dir = choose_trace_dir(settings.trace_dir);
  in.interposer = settings.interposer;
  in.device_settings = settings.simulated;
  if (in.simulated && ::isatty(STDERR_FILENO) != 0)
    in.device_settings.emplace_back("GPUMEMTRACE_SIM_PROGRESS", "1");
  facts.simulated = in.simulated;
  facts.trace_dir = in.trace_dir;
  if (in.simulated) {
    const std::string relink = static_runtime_sentence(path, check.facts);
    if (!relink.empty()) facts.remarks.push_back(relink);
    leave_out_fence(in, facts);
    in.without_kernel_checks = leaves_out_kernel_checks();
  }
  return in;
}

// Their libraries, which they preload into all that they start, wait for ever in the first CUDA
// call of a program that gpumemtrace starts, even of one that is not checked (ncu 2025.3 and
// compute-sanitizer of CUDA 13.0).
void refuse_inside_nvidia_tool() {
  if (std::getenv("NVIDIA-PROCESS-TRACKING-CONFIGURATION") == nullptr) return;
  throw UserError(
    "ncu or compute-sanitizer started gpumemtrace, and a program that is started inside both never gets "
    "past its first CUDA call: nothing was run. Run one after the other, or the tool inside: "
    "'gpumemtrace compute-sanitizer ./app'",
    ExitStatus::kUsage);
}

// Of processes that were never asked to record.
void remove_idle_files(const RunFacts& facts) {
  std::error_code error;
  for (const ProcessEnd& end : facts.outcome.ended)
    fs::remove(fs::path(facts.trace_dir) / idle_file(static_cast<std::uint32_t>(end.pid)), error);
}

// What is done while the program runs, each in its own time.
class Meanwhile {
public:
  Meanwhile(TracePacker& packer, WaitNotices* notices) : packer_(packer), notices_(notices) {}

  std::chrono::milliseconds work() {
    constexpr std::chrono::milliseconds kNow{0}, kBetweenNotices{2000};
    if (notices_ == nullptr) return packer_.work();
    if (const std::string wait = notices_->newest(); !wait.empty()) say(wait);
    const auto now = std::chrono::steady_clock::now();
    if (now >= packs_from_) packs_from_ = now + packer_.work();
    return std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(packs_from_ - now),
                      kNow, kBetweenNotices);
  }

private:
  TracePacker& packer_;
  WaitNotices* notices_;
  std::chrono::steady_clock::time_point packs_from_{};
};

// Runs the program and gathers all that is known about the run.
RunFacts run_program(const Settings& settings) {
  RunFacts facts;
  facts.arguments = settings.words;
  facts.path = resolve_program(settings.words[0]);
  const ProgramCheck check = check_program(facts.path);
  facts.unchecked = why_not_checked(settings, check);

  LaunchPlan plan{facts.path, settings.words, {}};
  if (!facts.unchecked.empty()) {
    say(facts.unchecked); // now, not only after hours of running
    plan.environment = inherited_environment();
    facts.outcome = launch(plan);
    return facts;
  }
  Instrumentation in = instrument(settings, facts.path, check, facts);
  if (const std::string problem = in.why_not_together(); !problem.empty())
    throw UserError(problem, ExitStatus::kUsage);
  for (const std::string& remark : facts.remarks) say(remark);
  const NotesFile notes(in.trace_dir);
  in.notes_file = notes.path();
  if (in.is_on("GPUMEMTRACE_NO_ARGUMENTS")) facts.arguments.resize(1);
  plan.environment = instrumented_environment(in);
  TracePacker packer(in.trace_dir, in.run_id);
  WaitNotices notices(notes.path());
  const bool says_waits = in.is_on("GPUMEMTRACE_KERNEL_CHECKS") && !settings.quiet;
  Meanwhile meanwhile(packer, says_waits ? &notices : nullptr);
  plan.meanwhile = [&meanwhile] { return meanwhile.work(); };
  facts.outcome = launch(plan);
  facts.notes = read_notes(notes.path());
  facts.was_idle = in.is_on("GPUMEMTRACE_IDLE");
  if (facts.was_idle) remove_idle_files(facts);
  std::vector<fs::path> moved;
  for (const Note& note : facts.notes)
    if (note.word == "moved") moved.emplace_back(note.text);
  facts.traces = traces_of_run(in.trace_dir, in.run_id, facts.outcome.program().pid, moved);
  for (TraceHead& trace : facts.traces) {
    for (const std::string& problem : {collect_rings(trace.path), collect_core_dumps(trace)}) {
      if (!problem.empty()) facts.remarks.push_back(problem);
    }
  }
  const std::string problem = write_endings(facts.traces, facts.outcome.ended);
  if (!problem.empty()) facts.remarks.push_back(problem);
  return facts;
}

// One damaged trace of a child must not cost the report on all the others: it is named and left
// out.
std::vector<TraceDir> readable_traces(RunFacts& facts) {
  std::vector<TraceDir> traces;
  for (const TraceHead& trace : facts.traces) {
    Expected<TraceDir> opened = open_trace(trace);
    if (opened) traces.push_back(std::move(*opened));
    else facts.unreadable.emplace_back(opened.error().what());
  }
  return traces;
}

// Makes a recorded trace readable on machines that do not have the binaries.
void keep_symbols(RunFacts& facts, const Settings& settings) {
  const std::vector<TraceDir> traces = readable_traces(facts);
  if (!traces.empty()) build_report(traces, report_options(settings));
  for (const std::string& problem : facts.unreadable) say(problem);
}

Report make_report(RunFacts& facts, const Settings& settings) {
  Report report;
  const std::vector<TraceDir> traces = readable_traces(facts);
  if (!traces.empty()) report = build_report(traces, report_options(settings));
  add_run_facts(facts, report);
  return report;
}

// As a shell says it: the program's own, or that of a failed check.
int status_of(const Conclusion& conclusion, const RunFacts& facts, const Settings& settings) {
  const int program = shell_status(facts.outcome.program().wait_status);
  const bool fails = settings.command == CommandId::kCheck && !conclusion.passed();
  return program != 0 || !fails ? program : settings.error_exitcode;
}

// What neither findings nor the program's own status say; empty if nothing.
std::string why_the_check_fails(const Conclusion& conclusion, const Settings& settings) {
  if (settings.command != CommandId::kCheck) return {};
  for (const Failure* failure : conclusion.beside_findings()) {
    using Reason = Failure::Reason;
    if (failure->reason == Reason::kProgram || failure->reason == Reason::kRunTime) continue;
    if (failure->reason == Reason::kUnchecked) return failure->sentence;
    return "the check fails: " + failure->sentence;
  }
  return {};
}

// For a check what passed it; else what has no error.
bool is_clean(const Report& report, const RunFacts& facts, const Settings& settings) {
  if (shell_status(facts.outcome.program().wait_status) != 0) return false;
  return settings.command == CommandId::kCheck
           ? report.conclusion.passed()
           : report.count(Severity::kError) == 0 && report.conclusion.beside_findings().empty();
}

// Says in the report that the traces will be gone.
void announce_removal(Report& report) {
  const char* why = report.findings.empty() ? "nothing was found" : "no finding fails the run";
  for (std::string& remark : report.remarks)
    if (remark.starts_with("trace: ")) remark = std::string("trace: removed, as ") + why;
}

void discard(const RunFacts& facts) {
  for (const TraceHead& trace : facts.traces) {
    const std::string why = why_not_removable(trace);
    const std::string problem = why.empty() ? remove_trace(trace.path) : why;
    if (!problem.empty()) say("the trace " + trace.path.string() + " stays: " + problem);
  }
}

// The report, and what the tool itself has to say about the run. Returns the status for a program
// that ended with 0.
int report_on(RunFacts& facts, const Settings& settings, OutputFile& output,
              const ReportFiles& files, const BaselineCheck& baseline) {
  Report report = make_report(facts, settings);
  baseline.compare(report);
  RunKnowledge known = knowledge_of(facts);
  known.fail_on = settings.fail_on;
  known.accepts_findings = baseline.is_update();
  known.accepts_unrun = settings.allow_unrun_kernels;
  report.conclusion = conclude(report, known);
  const int status = status_of(report.conclusion, facts, settings);
  report.conclusion.status = status;
  const std::string reason = why_the_check_fails(report.conclusion, settings);
  if (!reason.empty() && reason != facts.unchecked) report.remarks.push_back(reason);
  const bool discards = settings.discard_clean && is_clean(report, facts, settings);
  if (discards) announce_removal(report);
  if (settings.files_only) say(count_text(report));
  else output.write(render(report, settings, output.descriptor()));
  if (output.is_file() && (!settings.quiet || report.conclusion.signal != 0))
    say(count_text(report) + "; the report is in '" + settings.output + "'");
  if ((output.is_file() || settings.files_only) && !reason.empty()) say(reason);
  files.write(report);
  baseline.update(report);
  if (discards) discard(facts);
  return status;
}

} // namespace

int command_run(const Settings& settings) {
  refuse_inside_nvidia_tool();
  OutputFile output(settings.output, STDERR_FILENO);
  if (!settings.print_suppressions && settings.command != CommandId::kRecord)
    output.refuse_on_terminal(settings.format);
  const ReportFiles files(settings);
  const BaselineCheck baseline(settings);
  Suppressions rules; // a wrong rule must not be found out after the run
  for (const std::string& file : settings.suppressions) rules.add_file(file);

  RunFacts facts = run_program(settings);
  int status = 0;
  try {
    if (settings.command == CommandId::kRecord) {
      for (const std::string& line : record_lines(facts)) say(line);
      keep_symbols(facts, settings);
    } else {
      status = report_on(facts, settings, output, files, baseline);
    }
  } catch (const UserError& error) {
    say(error.what());
    status = static_cast<int>(error.status());
  } catch (const std::exception& error) {
    say(std::string("internal error: ") + error.what() + "; please report this with the trace");
    status = static_cast<int>(ExitStatus::kInternal);
  }
  const int program = facts.outcome.program().wait_status;
  return shell_status(program) != 0 ? die_like(program) : status;
}

} // namespace gmt
