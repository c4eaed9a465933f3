// SPDX-License-Identifier: Apache-2.0
// Findings of a process that may be running, as a report has them: with frames, owners and words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "analyzer/analysis/live/follower.h"
#include "analyzer/model/finding.h"
#include "analyzer/model/reported_finding.h"
#include "analyzer/report/source_text.h"
#include "analyzer/report/suppressions.h"
#include "analyzer/symbols/symbols.h"
#include "analyzer/symbols/symbols_cache.h"

namespace gmt {

// Names of a followed process's call stacks. Each address is looked up once.
class LiveSymbols {
public:
  // The follower must live as long.
  explicit LiveSymbols(const Follower& follower);

  void want(StackId stack);
  void resolve(); // what was wanted since the last call
  // Innermost first, with the frames of CUDA and of the C library; of a stack that was resolved.
  std::vector<Frame> frames(StackId stack) const;
  SourceFiles& sources() { return files_; }
  void add_lines(ReportedFinding& finding) { sources_.add_lines(finding); }

private:
  void read_modules();

  const Follower& follower_;
  const SymbolFile known_;      // what the trace has, if its process has ended
  std::vector<Module> modules_; // libraries may be loaded at any time
  std::uintmax_t modules_size_ = 0;
  SymbolResolver resolver_;
  SourceFiles files_;
  TraceSources sources_;
};

// In the order of a report; those that a rule suppresses are left out.
std::vector<ReportedFinding> reported_findings(std::vector<Finding> findings, LiveSymbols& symbols,
                                               Suppressions& suppressions);

} // namespace gmt
