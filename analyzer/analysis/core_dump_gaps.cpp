// SPDX-License-Identifier: Apache-2.0
// See core_dump_gaps.h. The words are those of trace/FORMAT.md, key `core_dump` of `info`.
#include "analyzer/analysis/core_dump_gaps.h"

#include <string_view>
#include <utility>

#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

constexpr std::string_view kLinesOfFaults = "lines of kernel faults";

std::string_view why_off(std::string_view word) {
  static constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
    {"program", "the program has settings of its own for core dumps of the GPU (CUDA_COREDUMP_* or "
                "cuCoredumpSetAttribute), which were left alone"},
    {"debugger", "a debugger was attached, which is given kernels' faults instead"},
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

} // namespace

void explain_core_dump(const TraceDir& trace, bool is_sticky, Findings& findings) {
  if (!trace.asks_for("core_dump") || trace.info.device == "simulated") return;
  const std::string& word = trace.info.core_dump;
  if (word != "on") {
    findings.not_checked({std::string(kLinesOfFaults), std::string(why_off(word))});
    return;
  }
  for (const CoreDump& dump : trace.core_dumps) {
    if (dump.problem.empty()) continue;
    findings.not_checked(
      {std::string(kLinesOfFaults),
       cat({"of a core dump of the GPU (", format_bytes(dump.bytes), ") ",
            dump.faults.empty() ? "nothing" : "not all", " could be read: ", dump.problem})});
  }
  if (is_sticky && trace.core_dumps.empty())
    findings.not_checked(
      {std::string(kLinesOfFaults),
       "a kernel failed, and the driver wrote no core dump of the GPU (a debugger "
       "or profiler was attached, the driver's debugger library is missing, or "
       "the disk was full)"});
}

} // namespace gmt
