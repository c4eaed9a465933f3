// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/missing_parts.h"

#include <utility>

#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

constexpr std::uint64_t kMostBelieved = 1'000'000'000; // more is a damaged order, and not a log

std::string lacks(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += cat({text.empty() ? "" : ", ", file});
  return cat({"the trace lacks ", files.size() == 1 ? "the log " : "the logs ", text});
}

void add_sentence(std::string& text, std::string_view sentence) {
  text += cat({text.empty() ? "" : "; ", sentence});
}

// Those of one kind, which are taken out of `files`.
std::vector<std::string> take_named(std::string_view prefix, std::vector<std::string>& files) {
  std::vector<std::string> taken;
  std::erase_if(files, [&](const std::string& file) {
    if (!file.starts_with(prefix)) return false;
    taken.push_back(file);
    return true;
  });
  return taken;
}

// ---- core dumps of GPUs: the words are those of trace/FORMAT.md, key `core_dump` of `info`

constexpr std::string_view kSubject = "lines of kernel faults";

std::string_view why_off(std::string_view word) {
  static constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
    {"program", "the program has settings of its own for core dumps of the GPU (CUDA_COREDUMP_* or "
                "cuCoredumpSetAttribute), which were left alone"},
    {"debugger",
     "a debugger was attached: it is given kernels' faults instead, and may miss those of stores"},
    {"no-room", "--max-trace leaves no room for a core dump of the GPU, which takes up to 160 MiB"},
    {"no-function", "the driver cannot be asked for core dumps of the GPU (it is older than 12.1)"},
    {"unknown-flags", "the driver's core dumps cannot leave out the GPU's memory (it is older than "
                      "12.5)"},
    {"refused", "the driver refused to write core dumps of the GPU (MPS, MIG or permissions)"}};
  for (const auto& [known, reason] : kReasons) {
    if (known == word) return reason;
  }
  return "the process made no context while core dumps of the GPU could be asked for";
}

// ---- Python: the words are those of trace/FORMAT.md, key `python_frames` of `info`

std::string why_no_python(const TraceInfo& info) {
  const std::string version = cat({"Python ", info.python});
  if (info.python_frames == "free-threaded")
    return cat({version, " is a free-threaded build, of which frames cannot be read"});
  if (info.python_frames == "unlike-headers")
    return cat({version, " keeps its frames otherwise than the releases that were tested"});
  if (info.python_frames == "sub-interpreters")
    return cat({version, " ran several interpreters: calls that were made meanwhile lack Python's "
                         "frames"});
  return cat({version, " is none of the versions that were tested: 3.11 to 3.15"});
}

} // namespace

void report_missing(const ProcessModel& model, const TraceDir& trace, ProcessReport& process,
                    Findings& findings) {
  if (!model.is_checked_for_gaps()) return;
  std::vector<std::string> files = missing_logs(trace);
  constexpr std::pair<const char*, const char*> kKinds[] = {
    {"device-", "in-kernel malloc and free"}, {"access-", "memory accesses"}};
  for (const auto& [prefix, subject] : kKinds) {
    const std::vector<std::string> of_kind = take_named(prefix, files);
    if (of_kind.empty()) continue;
    add_sentence(process.missing, lacks(of_kind));
    findings.not_checked({subject, lacks(of_kind)});
  }
  std::string calls;
  const std::uint64_t records = model.missing_records();
  if (records > kMostBelieved) {
    ++process.damaged;
    findings.not_checked({"memory findings", "a record's place in the order of calls is damaged"});
  } else if (records != 0) {
    process.lost["missing from the trace"] += records;
    calls = cat(
      {format_plural(records, "record"), records == 1 ? " is" : " are",
       " missing from the trace (the order of the calls has a gap that nothing explains: was a log "
       "deleted, or not copied?)"});
  }
  if (!files.empty()) add_sentence(calls, lacks(files));
  if (calls.empty()) return;
  add_sentence(process.missing, calls);
  findings.not_checked(
    {"leak",
     cat({calls, ": blocks may have been freed there, and an allocation there is not listed"})});
  findings.not_checked(
    {"memory findings", cat({calls, ": mistakes in calls there were not seen"})});
}

void report_python(const TraceDir& trace, Findings& findings) {
  const std::string& word = trace.info.python_frames;
  if (word.empty() || word == "on") return;
  findings.not_checked({"Python lines in call stacks", why_no_python(trace.info)});
}

void report_core_dump(const TraceDir& trace, bool is_sticky, Findings& findings) {
  const bool by_guard = trace.asks_for("guard"); // --guard asks for dumps, too
  if (!(by_guard || trace.asks_for("core_dump")) || trace.info.device == "simulated") return;
  const std::string& word = trace.info.core_dump;
  // A process that made no context ran no kernel: --guard was not asked about faults.
  if (word.empty() && !trace.asks_for("core_dump") && !is_sticky) return;
  if (word != "on") {
    findings.not_checked({std::string(kSubject), std::string(why_off(word))});
    return;
  }
  for (const CoreDump& dump : trace.core_dumps) {
    if (dump.problem.empty()) continue;
    findings.not_checked(
      {std::string(kSubject),
       cat({"of a core dump of the GPU (", format_bytes(dump.bytes), ") ",
            dump.faults.empty() ? "nothing" : "not all", " could be read: ", dump.problem})});
  }
  if (is_sticky && trace.core_dumps.empty())
    findings.not_checked(
      {std::string(kSubject),
       "a kernel failed, and the driver wrote no core dump of the GPU (a debugger "
       "or profiler was attached, the driver's debugger library is missing, or "
       "the disk was full)"});
}

} // namespace gmt
