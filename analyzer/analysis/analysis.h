// SPDX-License-Identifier: Apache-2.0
// The whole pipeline for one trace: logs -> merged events -> heap -> detectors -> grouping. Called by the
// report, once a trace; symbols, suppressions and owner rules come after it.
#pragma once

#include <filesystem>
#include <vector>

#include "analyzer/analysis/event_stream.h"
#include "analyzer/model/finding.h"
#include "analyzer/trace_reader/object_files.h"
#include "analyzer/analysis/process_report.h"
#include "analyzer/trace_reader/stack_table.h"

namespace gmt {

struct Analysis {
  ProcessReport process;
  std::vector<Finding> findings; // grouped, in the order of their first examples; frames not yet filled
  std::vector<NotChecked> not_checked;
  std::vector<StackUse> use_by_stack;
  StackTable stacks;
  std::vector<Module> modules;
};

// Throws UserError (kUnreadableTrace) if nothing could be read; damage inside the trace is counted instead.
Analysis analyze(const std::filesystem::path& trace_dir, const AnalysisOptions& options = {});

} // namespace gmt
