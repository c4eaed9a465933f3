// SPDX-License-Identifier: Apache-2.0
// From traces to a Report: analysis of each, symbols, owner rules, suppressions, order. The same
// traces and options give the same Report, byte for byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/report/report.h"

namespace gmt {

class SourceFiles;

struct ReportOptions {
  // Leaks, warnings and notes of fewer bytes are left out and counted; other errors, and findings
  // without a size, stay: a small mistake is one too.
  std::uint64_t min_bytes = 0;
  std::vector<std::filesystem::path> suppression_files;
  bool all_stacks = false; // fill in ProcessReport::stacks
  AnalysisOptions analysis;
  bool symbols = true;        // false: frames show module and offset only
  bool sources = true;        // read the source lines of findings, which their fingerprints have
  bool native_frames = false; // keep those of Python's interpreter beside Python's own
  // Keep what was resolved in each trace, and the source lines; a failure is a remark
  bool write_symbols = false;
  std::vector<std::string> only, skip; // kinds of findings, globs; empty `only` is all
};

// The traces of one run, the program itself first. Throws UserError for a bad suppressions file.
Report build_report(const std::vector<TraceDir>& traces, const ReportOptions& options);

// A finding whose stacks have their whole frames: its owner, its words, and frames cut.
ReportedFinding reported_finding(Finding finding, SourceFiles& sources);
void sort_findings(std::vector<ReportedFinding>& findings); // in the order of a report

// The part behind the analysis. `traces` are the directories the analyses came from, in the same
// order.
Report assemble_report(std::vector<Analysis> analyses,
                       const std::vector<std::filesystem::path>& traces,
                       const ReportOptions& options);

} // namespace gmt
