// SPDX-License-Identifier: Apache-2.0
// Reasons why memory accesses were not measured.

#include "analyzer/analysis/gaps/gaps.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/gaps/coalescing_left_out.h"
#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/symbols/demangle.h"
#include "trace/costly_kernels.h"

namespace gmt {
namespace {

using trace::AccessTrouble;

constexpr const char* kCounters = "whole-kernel counters";

// Tools that take CUPTI for themselves, by a library that they load into the program.
std::string_view profiler_of(const TraceDir& trace) {
  static constexpr std::pair<std::string_view, std::string_view> kTools[] = {
    {"libToolsInjection", "Nsight Systems (nsys)"},
    {"libcuda-injection", "Nsight Compute (ncu)"},
    {"libsanitizer-collection", "compute-sanitizer"}};
  for (const Module& module : trace.modules) {
    const std::string_view file = base_name(module.path);
    for (const auto& [library, tool] : kTools) {
      if (file.starts_with(library)) return tool;
    }
  }
  return {};
}

// Answers that say what machine this is (cupti_result.h), with what helps. Empty for all others.
std::string_view about_machine(std::uint64_t result) {
  switch (result) {
  case 33: return "CUPTI cannot measure on a virtual GPU: run on a whole one";
  case 40:
    return "the hypervisor does not let this virtual GPU be profiled: its administrator can allow it";
  case 41:
    return "nothing can be profiled in the GPU's confidential computing mode: run without that";
  case 42: return "CUPTI cannot measure on mining processors (CMP)";
  case 43: return "CUPTI cannot measure on a part of a GPU (MIG): run on a whole one";
  case 44: return "CUPTI cannot measure on GPUs that are joined by SLI: take them apart";
  case 45: return "CUPTI cannot measure under WSL here: run on Linux itself";
  default: return {};
  }
}

std::string reason(AccessTrouble trouble, std::uint64_t result, const TraceDir& trace) {
  const std::string code = result == 0 ? "" : cat({" (CUptiResult ", std::to_string(result), ")"});
  const bool refused =
    trouble == AccessTrouble::kNotSupported || trouble == AccessTrouble::kNotPermitted;
  if (const std::string_view why = about_machine(result); refused && !why.empty())
    return cat({why, code});
  switch (trouble) {
  case AccessTrouble::kNoLibrary:
    return "CUPTI (libcupti.so) was not found, or is too old: it comes with the CUDA toolkit "
           "(extras/CUPTI/lib64) and with the Python package nvidia-cuda-cupti; put its folder into "
           "LD_LIBRARY_PATH";
  case AccessTrouble::kNotSupported:
    return cat({"CUPTI cannot count for single instructions on this GPU", code});
  case AccessTrouble::kBusy: {
    const std::string_view tool = profiler_of(trace);
    return cat({tool.empty() ? "another profiler" : tool, " holds CUPTI in this process", code,
                tool.empty() ? ", such as nsys, ncu, compute-sanitizer or a framework's own" : "",
                ": run without it"});
  }
  case AccessTrouble::kNotPermitted:
    return cat(
      {"the driver keeps GPU counters from this user", code,
       ": run as root, or load the NVIDIA driver with NVreg_RestrictProfilingToAdminUsers=0 "
       "(https://developer.nvidia.com/ERR_NVGPUCTRPERM)"});
  case AccessTrouble::kError: return cat({"CUPTI refused", code});
  case AccessTrouble::kNone: break;
  }
  return {};
}

void report_windows(const AccessLog& log, const TraceDir& trace, Findings& findings) {
  const AccessWindows& windows = log.windows;
  if (!log.stats.skipped.empty()) {
    findings.not_checked(
      {kMemoryAccesses, cat({log.name, " could not be read: ", log.stats.skipped})});
    return;
  }
  if (std::string why = reason(windows.trouble, windows.code, trace); !why.empty()) {
    if (windows.launches_read != 0) {
      why += cat({"; that came after ", format_count(windows.launches_read), " of ",
                  format_count(windows.launches), " launches had been measured"});
    }
    findings.not_checked({kMemoryAccesses, why});
  }
  if (windows.launches_given_up != 0) {
    findings.not_checked(
      {kMemoryAccesses,
       cat({"the figures of ", format_count(windows.launches_given_up), " measured ",
            windows.launches_given_up == 1 ? "launch is" : "launches are",
            " lost: a graph had to be launched among them, or their context ended before they "
            "could be read"})});
  }
  if (windows.opened > windows.read && windows.opened - windows.read > windows.given_up) {
    findings.not_checked(
      {kMemoryAccesses,
       "launches were being measured when the process ended: their figures are lost"});
  }
  if (windows.graphs_in_windows != 0) {
    findings.not_checked(
      {kMemoryAccesses,
       cat(
         {format_plural(windows.graphs_in_windows, "graph"),
          " had to be launched or uploaded while CUPTI "
          "measured, because a measured kernel did not end for 30 s or the same thread was capturing "
          "another graph. CUPTI can lose a graph's kernels then: what the program computed may be wrong; run it "
          "without --coalescing, or choose other kernels with --kernel"})});
  }
  if (windows.unknown_graphs != 0) {
    const bool one = windows.unknown_graphs == 1;
    findings.not_checked(
      {kMemoryAccesses,
       cat(
         {format_count(windows.unknown_graphs), one ? " launch of a graph" : " launches of graphs",
          " whose kernels are not known (conditional nodes, or changed after it was made): numbers "
          "for all launches leave them out"})});
  }
}

// The simulated device counts each launch itself: no window of CUPTI's is open for any time.
bool was_counted_by_device(const AccessWindows& windows) {
  return windows.opened != 0 && windows.open_nanoseconds == 0;
}

// Of those that were asked for; where nothing at all was measured the reason stands elsewhere.
void report_counters(const MemoryAccess& access, const TraceDir& trace, Findings& findings) {
  std::uint64_t counted = 0, lost = 0;
  for (const AccessLog& log : access.logs()) {
    const AccessWindows& windows = log.windows;
    counted += windows.counted;
    lost += windows.counted_lost;
    switch (windows.counters_trouble) {
    case AccessTrouble::kNone: continue;
    case AccessTrouble::kNoLibrary:
      findings.not_checked(
        {kCounters, "CUPTI (libcupti.so) has no Range Profiler: it comes with CUDA 12.6"});
      break;
    case AccessTrouble::kNotSupported:
      if (was_counted_by_device(windows)) {
        findings.not_checked({kCounters, "the simulated device has no counters of hardware"});
        return;
      }
      findings.not_checked(
        {kCounters, about_machine(windows.counters_code).empty()
                      ? "CUPTI cannot count these in two passes on this GPU"
                      : reason(windows.counters_trouble, windows.counters_code, trace)});
      break;
    default:
      findings.not_checked(
        {kCounters, reason(windows.counters_trouble, windows.counters_code, trace)});
    }
    return;
  }
  if (lost != 0) {
    findings.not_checked(
      {kCounters, cat({"those of ", format_count(lost), " of ", format_count(counted),
                       counted == 1 ? " launch" : " launches",
                       " were dropped: others ran at the same time"})});
  }
  std::map<std::string_view, bool> measured; // kernels by name; whether they have counters
  for (const MeasuredFunction& function : access.functions()) {
    if (!function.is_kernel() || function.measured == 0) continue;
    bool& has_counters = measured[function.linked];
    has_counters = has_counters || function.counters.launches != 0;
  }
  const auto alone =
    std::ranges::count(measured, false, [](const auto& kernel) { return kernel.second; });
  if (alone == 0) return;
  findings.not_checked(
    {kCounters,
     cat({format_count(static_cast<std::uint64_t>(alone)), " of ",
          format_plural(measured.size(), "measured kernel"),
          alone == 1 ? " has none" : " have none",
          ": the first launch that is due is for a kernel's instructions, and no later one was "
          "counted"})});
}

void report_functions(const MemoryAccess& access, Findings& findings) {
  std::vector<std::string> bulk, without_code;
  for (const MeasuredFunction& function : access.functions()) {
    if (function.has_bulk_copies()) bulk.push_back(shorten_function(function.name, 40));
    if (function.code == nullptr && !function.instructions.empty()) {
      without_code.push_back(shorten_function(function.name, 40));
    }
  }
  if (!bulk.empty()) {
    findings.not_checked(
      {kMemoryAccesses,
       cat(
         {"bulk copies (the tensor memory accelerator) pass by what CUPTI counts for instructions: "
          "those of ",
          list_names(bulk), " are not in the figures"})});
  }
  if (!without_code.empty()) {
    findings.not_checked(
      {kMemoryAccesses,
       cat({"the code of ", list_names(without_code),
            " was not found: what was measured there has no lines and fewer causes"})});
  }
}

// Whether only some kernels, or only those inside a range, were to be measured.
bool has_choice(const TraceDir& trace) {
  return std::ranges::any_of(std::array{"kernel", "coalescing_range"},
                             [&trace](const char* option) {
                               const auto found = trace.info.options.find(option);
                               return found != trace.info.options.end() && !found->second.empty();
                             });
}

} // namespace

void report_access_gaps(const MemoryAccess& access, const TraceDir& trace, ProcessReport& process,
                        Findings& findings) {
  if (!access.asked()) return;
  bool explained = false;
  for (const AccessLog& log : access.logs()) {
    report_windows(log, trace, findings);
    explained = explained || !log.stats.skipped.empty() ||
                log.windows.trouble != AccessTrouble::kNone ||
                log.windows.opened > log.windows.read;
    process.torn += log.stats.torn;
    process.damaged += log.stats.damaged;
  }
  const bool any = std::ranges::any_of(access.functions(), [](const MeasuredFunction& f) {
    return f.measured != 0 || !f.instructions.empty();
  });
  if (!has_choice(trace)) explained = report_unmeasured(access, findings) || explained;
  if (!any && !explained) {
    const char* why =
      process.totals.launches == 0 ? "no kernel was launched" : "no launch was measured";
    findings.not_checked({kMemoryAccesses, why});
  }
  if (trace.asks_for("counters")) report_counters(access, trace, findings);
  report_functions(access, findings);
  report_shared(access, findings);
  report_budget(access, trace, findings);
  const bool by_device = std::ranges::any_of(
    access.logs(), [](const AccessLog& log) { return was_counted_by_device(log.windows); });
  const std::pair<bool, NotChecked> metrics[] = {
    {access.lacks_global(),
     {"uncoalesced", "CUPTI does not count sectors of global memory on this GPU"}},
    {access.lacks_shared(),
     {"bank-conflict", "CUPTI does not count wavefronts of shared memory on this GPU"}},
    {access.lacks_local(),
     {"local-spill", by_device ? "the simulated device does not count local memory: what lies "
                                 "there is ptxas's choice"
                               : "CUPTI does not count sectors of local memory on this GPU"}}};
  for (const auto& [lacks, what] : metrics) {
    if (lacks) findings.not_checked(what);
  }
}

} // namespace gmt
