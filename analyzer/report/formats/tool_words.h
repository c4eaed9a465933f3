// SPDX-License-Identifier: Apache-2.0
// Words and sentences that the formats for other tools share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/output_format.h"
#include "analyzer/report/source_paths.h"

namespace gmt::tools {

inline std::string_view severity_word(Severity severity) {
  switch (severity) {
  case Severity::kError: return "error";
  case Severity::kWarning: return "warning";
  case Severity::kNote: break;
  }
  return "note";
}

inline std::string_view ending_word(Ending::How how) {
  switch (how) {
  case Ending::How::kExited: return "exited";
  case Ending::How::kSignalled: return "signalled";
  case Ending::How::kExec: return "exec";
  case Ending::How::kRunning: return "running";
  case Ending::How::kUnknown: break;
  }
  return "unknown";
}

// Empty without a baseline.
inline std::string_view baseline_word(BaselineState state) {
  switch (state) {
  case BaselineState::kNew: return "new";
  case BaselineState::kGrown: return "grown";
  case BaselineState::kKnown: return "known";
  case BaselineState::kNoBaseline: break;
  }
  return {};
}

// The findings that --limit leaves.
inline std::size_t shown_findings(const Report& report, const OutputOptions& options) {
  const std::size_t all = report.findings.size();
  return options.limit == 0 ? all : std::min(options.limit, all);
}

inline bool fails(const ReportedFinding& finding, const OutputOptions& options) {
  return finding.severity >= options.fail_on && finding.baseline != BaselineState::kKnown;
}

// "64.0 MiB in 16 blocks", "2 times, 1.0 MiB", empty
std::string amount_of(const ReportedFinding& finding);

// "src/train.cu:85", "libfoo.so+0x10"
std::string location_text(const Frame& frame, const SourcePaths& paths);

// "thread (31, 0, 0) of block (0, 1, 0), launch 3 of step(int*)" for what happened in a kernel, as
// far as it is known; else empty
std::string thread_words(const CallStack& stack);
std::string thread_words(const ReportedFinding& finding);

// All stacks of a finding, one frame a line, a kernel's with its thread. Files outside the sources
// have no folders.
std::string stacks_text(const ReportedFinding& finding, const SourcePaths& paths,
                        unsigned stack_depth);

// What is no UTF-8 becomes U+FFFD, and so do control characters but tabs and ends of lines.
std::string clean_utf8(std::string_view text);

// The program's name, and its number where the run had several processes: "train", "train (2)"
std::string process_name(const Report& report, std::size_t process);

// "process 4711 (worker) was killed by SIGSEGV (Segmentation fault)" for each process that a signal
// ended and that is not the program, whose end the conclusion has.
struct KilledChild {
  std::size_t process;
  std::string sentence;
};
std::vector<KilledChild> killed_children(const Report& report);

} // namespace gmt::tools
