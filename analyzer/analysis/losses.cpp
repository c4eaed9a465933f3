// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/losses.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/device_stacks.h"

namespace gmt {

namespace {

// Where records were lost the last words may be among them. (A program that leaves by the system
// call exit_group alone says nothing either: then no more is missing than it did after its last
// call.)
bool ends_without_words(const ProcessReport& process, const ReadStats& stats) {
  return process.ended.how == Ending::How::kExited && !process.exit_recorded &&
         process.totals.events != 0 && stats.lost() == 0;
}

void report_end(ProcessReport& process, const std::string& cut, Findings& findings) {
  std::string missing = "the end of the log is missing (the process exited, and no record says so)";
  if (!cut.empty()) {
    missing = cat({"the end of the log is missing: ", cut, " ends where records may follow"});
    process.missing = missing;
  }
  findings.not_checked(
    {"leak",
     cat({missing, cut.empty() ? ": a block listed as leaked may have been freed there, and an "
                                 "allocation there is not listed"
                               : ", and blocks may have been freed there"})});
  findings.not_checked(
    {"memory findings", cat({missing, ": mistakes in calls there were not seen"})});
}

} // namespace

std::string log_that_was_cut(const ProcessReport& process, const EventStream& stream) {
  if (!ends_without_words(process, stream.stats())) return {};
  const std::vector<std::filesystem::path> filled = stream.filled_logs();
  return filled.empty() ? std::string() : filled.front().filename().string();
}

std::string_view cause_in_words(std::size_t cause) {
  switch (static_cast<trace::LossCause>(cause)) {
  case trace::LossCause::kNoSpace: return "disk full, or file size limit";
  case trace::LossCause::kTraceLimit: return "size limit of the trace (--max-trace)";
  case trace::LossCause::kReentry: return "signal handler during recording";
  case trace::LossCause::kNoLog: return "no log could be made for a thread";
  case trace::LossCause::kNoRing: return "no device ring could be made";
  case trace::LossCause::kNoDescriptors: return "no file descriptor was left";
  case trace::LossCause::kRefused: return "the system refused to grow a file";
  }
  return "unknown cause";
}

void report_lost_rings(ReadStats& stats, Findings& findings) {
  const std::uint64_t modules =
    std::exchange(stats.total.lost[static_cast<std::size_t>(trace::LossCause::kNoRing)], 0);
  if (modules == 0) return;
  findings.not_checked({"in-kernel malloc", cat({format_plural(modules, "module"),
                                                 " with instrumented kernels could not be given a "
                                                 "ring in shared memory, or not in time: what "
                                                 "malloc and free did in them may be missing"})});
}

void add_losses(const ReadStats& stats, ProcessReport& process) {
  for (std::size_t cause = 0; cause < stats.total.lost.size(); ++cause) {
    if (const std::uint64_t n = stats.total.lost[cause])
      process.lost[std::string(cause_in_words(cause))] += n;
  }
  process.torn = stats.total.torn;
  process.damaged = stats.total.damaged;
}

void report_left_out(const ProcessReport& process, Findings& findings) {
  if (!process.executions) return;
  for (const Executions::LeftOut& left_out : process.executions->left_out)
    findings.not_checked({"kernel " + left_out.kernel, in_words(left_out)});
}

void report_losses(ProcessReport& process, const ReadStats& stats, const std::string& cut,
                   Findings& findings) {
  if (stats.lost() != 0) {
    std::string causes;
    for (const auto& [cause, n] : process.lost) causes += cat({causes.empty() ? "" : "; ", cause});
    const std::string lost = cat({format_plural(stats.lost(), "record"),
                                  stats.lost() == 1 ? " was" : " were", " lost (", causes, ")"});
    if (stats.total.lost_unknown) {
      findings.not_checked(
        {"leak", cat({lost, ": a block listed as leaked may have been freed by one of them, and an "
                            "allocation among them is not listed"})});
    } else if (stats.memory_lost_from() != 0) {
      findings.not_checked({"leak", cat({lost, ": an allocation among them is not listed"})});
    }
    findings.not_checked(
      {"memory findings", cat({lost, ": mistakes in those calls were not seen"})});
  }
  if (process.torn != 0) {
    findings.not_checked(
      {"memory findings", cat({format_plural(process.torn, "record"),
                               " never finished (the process or a thread ended in the middle)"})});
  }
  if (process.damaged != 0) {
    findings.not_checked({"memory findings", cat({format_plural(process.damaged, "record"),
                                                  " in the trace damaged and left out"})});
  }
  if (stats.total.unknown_kinds != 0) {
    findings.not_checked(
      {"calls of a newer format", cat({format_plural(stats.total.unknown_kinds, "record"),
                                       " of kinds that this version does not know"})});
  }
  if (ends_without_words(process, stats)) report_end(process, cut, findings);
  for (const auto& [log, why] : stats.skipped_logs) {
    findings.not_checked(
      {"one thread's calls", cat({"the log ", log.string(), " could not be read: ", why})});
  }
}

void report_device_losses(const DeviceContexts& contexts, const Heap& heap, ProcessReport& process,
                          Findings& findings) {
  std::uint64_t lost = 0, torn = 0, damaged = 0, unseen = 0, unchecked = 0;
  for (const auto& context : contexts) {
    lost += context->heap.lost();
    torn += context->heap.torn();
    damaged += context->stats.damaged;
    unseen += context->heap.unseen_frees();
    unchecked += context->heap.unchecked();
    for (const DeviceMistake& free : context->heap.undecided()) {
      if (host_block_of(free, heap) == nullptr) unchecked += free.count; // else heap-mixed
    }
    for (std::size_t cause = 0; cause < context->stats.lost.size(); ++cause) {
      const std::uint64_t n = context->stats.lost[cause];
      if (n != 0) process.lost[std::string(cause_in_words(cause))] += n;
    }
    if (!context->stats.skipped.empty()) {
      findings.not_checked({"in-kernel malloc and free",
                            cat({context->log, " could not be read: ", context->stats.skipped})});
    }
  }
  if (lost != 0) process.lost["ring of device records full"] += lost;
  process.torn += torn;
  process.damaged += damaged;
  const auto say = [&](std::uint64_t n, std::string_view noun, std::string_view what) {
    if (n != 0)
      findings.not_checked({"in-kernel malloc and free", cat({format_plural(n, noun), what})});
  };
  say(
    lost, "record",
    " of malloc or free in kernels found no room in the ring; a larger one (--device-ring-size), or "
    "--device-ring-full=wait, loses none");
  say(unchecked, "free",
      " in kernels behind that loss were not checked: the allocation may be among what was lost");
  say(torn, "record",
      " of malloc or free in kernels never finished, because their context or process died");
  say(damaged, "record", " of malloc or free in kernels damaged and left out");
  say(unseen, "block",
      " of a device heap replaced by a new one at the same address: the free was not seen, as in "
      "code that is not instrumented");
}

void report_gaps(const TraceDir& trace, const Heap& heap, const Totals& totals,
                 std::uint64_t nameless, Findings& findings) {
  if (nameless != 0) {
    findings.not_checked(
      {"names", cat({"the trace's file 'apis' is missing or damaged: ",
                     format_plural(nameless, "call"), " without a name, shown as \"?\""})});
  }
  if (trace.modules.empty() && totals.events != 0) {
    findings.not_checked({"names",
                          "the trace's file 'modules' is missing or damaged: stacks are bare "
                          "addresses, and whose code they are is not known"});
  }
  if (trace.damaged_lines != 0) {
    findings.not_checked(
      {"names and modules", cat({format_plural(trace.damaged_lines, "line"),
                                 " in the trace's text files damaged and left out"})});
  }
  if (trace.logs.empty()) {
    findings.not_checked(
      {"everything", "the trace holds no log: the process ended before its first recorded call"});
  } else if (totals.events == 0) {
    findings.not_checked({"everything", "the trace holds no CUDA call"});
  }
  if (trace.asks_for("idle"))
    findings.not_checked({"what was before",
                          "the process was recorded from 'gpumemtrace attach' on (--idle): memory "
                          "and streams of before are not known"});
  if (const std::uint64_t n = heap.unseen_allocations(); n != 0) {
    findings.not_checked(
      {"memory from unseen calls", cat({"CUDA accepted ", format_plural(n, "release"),
                                        " of memory whose allocation was not "
                                        "seen: calls around it are not checked"})});
  }
  if (const std::uint64_t n = heap.unseen_frees(); n != 0) {
    findings.not_checked(
      {"memory from unseen calls",
       cat({format_plural(n, "block"), " replaced by a new allocation at the same address: ",
            n == 1 ? "its" : "their", " release was not seen"})});
  }
}

} // namespace gmt
