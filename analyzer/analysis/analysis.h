// SPDX-License-Identifier: Apache-2.0
// The whole pipeline for one trace: logs -> merged events -> heap -> detectors -> grouping.
// Symbols, suppressions and rules of owners come after it.
#pragma once

#include <filesystem>
#include <vector>

#include "analyzer/analysis/analysis_options.h"
#include "analyzer/analysis/process_report.h"
#include "analyzer/model/finding.h"
#include "analyzer/trace_reader/object_files.h"
#include "analyzer/trace_reader/stack_table.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

struct Analysis {
  ProcessReport process;
  // Grouped, in the order of their first examples; frames not yet filled
  std::vector<Finding> findings;
  std::vector<NotChecked> not_checked;
  std::vector<StackUse> use_by_stack;
  StackTable stacks;
  std::vector<Module> modules;
  bool has_kernel_checks = false; // --kernel-checks
};

// Damage inside the trace is counted.
Analysis analyze(const TraceDir& trace, const AnalysisOptions& options = {});
// Opens it first; throws UserError (kUnreadableTrace) if nothing can be read.
Analysis analyze(const std::filesystem::path& trace, const AnalysisOptions& options = {});

} // namespace gmt
