// SPDX-License-Identifier: Apache-2.0
// Builds a Report, see report_builder.h. Addresses of all processes are resolved together, so that
// a library that eight of them share is read once.
#include "analyzer/report/report_builder.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>
#include <tuple>

#include "analyzer/analysis/owners.h"
#include "analyzer/base/glob.h"
#include "analyzer/device_code/kernel_pointers.h"
#include "analyzer/device_code/static_variables.h"
#include "analyzer/device_code/trace_code.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/process_symbols.h"
#include "analyzer/report/report_gaps.h"
#include "analyzer/report/shared/call_site.h"
#include "analyzer/report/shared/module_path.h"
#include "analyzer/report/source_text.h"
#include "analyzer/report/suppressions.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/frame_trim.h"
#include "analyzer/symbols/runtime_names.h"
#include "analyzer/symbols/symbols.h"
#include "analyzer/wording/wording.h"

#ifndef GPUMEMTRACE_VERSION
#define GPUMEMTRACE_VERSION "unknown"
#endif

namespace gmt {
namespace fs = std::filesystem;
namespace {

void fill_stack(CallStack& stack, const ProcessSymbols& symbols, const SymbolResolver& resolver) {
  stack.frames = symbols.frames(stack.stack, resolver);
  name_runtime_call(stack);
  trim_frames(stack.frames);
}

void add_stacks(Analysis& analysis, const ProcessSymbols& symbols, const SymbolResolver& resolver) {
  for (const StackUse& use : analysis.use_by_stack) {
    StackMemory& memory = analysis.process.stacks.emplace_back();
    memory.add(use);
    memory.stack.stack = use.stack;
    memory.stack.frames = symbols.frames(use.stack, resolver);
    trim_frames(memory.stack.frames);
  }
}

void fill_tables(Analysis& analysis, const ProcessSymbols& symbols, const SymbolResolver& resolver,
                 bool all_stacks) {
  MemoryTables& tables = analysis.process.tables;
  tables.modules = use_by_module(analysis.use_by_stack, analysis.stacks, analysis.modules);
  if (all_stacks) add_stacks(analysis, symbols, resolver);
  for (MemoryTables::Holder& holder : tables.holders) fill_stack(holder.stack, symbols, resolver);
  for (MemoryTables::Holder& holder : tables.tensors.holders)
    fill_stack(holder.stack, symbols, resolver);
  if (!analysis.process.history) return;
  for (StackMemory& stack : analysis.process.history->stacks)
    fill_stack(stack.stack, symbols, resolver);
}

// Many processes share the room that one has.
HistorySize share_of(HistorySize size, std::size_t processes) {
  constexpr std::size_t kWithAll = 8, kFewestColumns = 128, kFewestLayers = 8, kFewestStacks = 50;
  if (processes <= kWithAll || size.columns == 0) return size;
  size.columns = std::max(size.columns * kWithAll / processes, kFewestColumns);
  size.layers = std::max(size.layers * kWithAll / processes, kFewestLayers);
  size.stacks = std::max(size.stacks * kWithAll / processes, kFewestStacks);
  return size;
}

// Every frame of a finding has names of its own.
class RoomForNames {
public:
  bool has_room() const { return bytes_ < kMost; }
  void count(const std::vector<Frame>& frames) {
    for (const Frame& f : frames)
      bytes_ += sizeof f + f.function.size() + f.file.size() + f.module.size();
  }

private:
  static constexpr std::size_t kMost = std::size_t{250} << 20;
  std::size_t bytes_ = 0;
};

void symbolise(std::vector<Analysis>& analyses, const std::vector<fs::path>& traces,
               const ReportOptions& options, Report& report) {
  SymbolResolver resolver;
  std::vector<ProcessSymbols> processes;
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    processes.emplace_back(analyses[i], traces[i], options.native_frames);
    if (options.symbols)
      processes.back().want(resolver, options.write_symbols || options.all_stacks);
    else processes.back().forget();
  }
  resolver.resolve();
  RoomForNames names;
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    if (processes[i].keep(resolver) && options.write_symbols) {
      if (std::optional<std::string> failure = processes[i].write())
        report.remarks.push_back(std::move(*failure));
    }
    for (Finding& finding : analyses[i].findings) {
      for (FindingStack& stack : finding.stacks) {
        if (!stack.device && names.has_room())
          names.count(stack.frames = processes[i].frames(stack.stack, resolver));
      }
    }
    fill_tables(analyses[i], processes[i], resolver, options.all_stacks);
  }
  for (const NotChecked& entry : resolver.not_checked())
    note_not_checked(report.not_checked, entry);
  if (!names.has_room())
    note_not_checked(report.not_checked,
                     {"call stacks", "those of the last findings are left out: the names "
                                     "of all would take too much memory"});
}

bool wanted_kind(const std::string& kind, const ReportOptions& options) {
  const auto any = [&kind](const std::vector<std::string>& globs) {
    return std::any_of(globs.begin(), globs.end(),
                       [&kind](const std::string& g) { return glob_match(g, kind); });
  };
  return (options.only.empty() || any(options.only)) && !any(options.skip);
}

// A double free of a small block is no smaller mistake: only what is about an amount can be too
// little of it.
bool size_is_the_point(const ReportedFinding& finding) {
  const bool is_about_bytes =
    finding.severity != Severity::kError || finding.measure == Measure::kLostBlocks;
  return finding.bytes != 0 && is_about_bytes;
}

// What a known library does with memory for itself is its way to work, and no finding.
bool is_librarys_way(const ReportedFinding& finding) {
  return finding.severity == Severity::kNote && !finding.access && !finding.fault &&
         !finding.owner.empty() && !finding.owner_clause.empty();
}

// What it keeps is a row of a table. Of virtual memory the mappings count, neither the addresses
// nor what is mapped there.
void add_to_library(const ReportedFinding& finding, std::vector<MemoryTables::Library>& libraries) {
  const auto is_of = [&finding](std::string_view call) {
    return !finding.stacks.empty() && finding.stacks.front().api == call;
  };
  if (is_of("cuMemAddressReserve") || is_of("cuMemCreate")) return;
  auto row = std::ranges::find(libraries, finding.owner, &MemoryTables::Library::owner);
  if (row == libraries.end()) row = libraries.insert(libraries.end(), {finding.owner});
  row->bytes += finding.bytes;
  row->blocks += finding.count;
}

// Whether such an allocator was turned off is not in the trace.
void note_unseen_parts(const std::vector<MemoryTables::Library>& libraries,
                       std::vector<NotChecked>& list) {
  for (const MemoryTables::Library& library : libraries) {
    const UnseenParts parts = unseen_parts_of(library.owner);
    if (parts.what.empty()) continue;
    note_not_checked(list, {std::string(parts.what),
                            cat({"without ", parts.remedy, " they lie in larger blocks, of which ",
                                 library.owner, " reports nothing"})});
  }
}

// Modules are found by the lines that call them, if there are sources to look at.
ReportedFinding with_names(Finding finding, SourceFiles* sources) {
  apply_owner_rules(finding); // sees whole stacks: an owner may be what trim_frames() cuts away
  CallNames names = name_runtime_calls(finding);
  for (FindingStack& stack : finding.stacks) {
    if (!stack.device) trim_frames(stack.frames);
  }
  for (const FindingStack& stack : finding.stacks) {
    if (stack.role != StackRole::kAllocated && stack.role != StackRole::kHeld) continue;
    std::string& site = names.tensor_sites.emplace_back(tensor_site(stack));
    const std::string module = sources != nullptr ? module_path(stack, *sources) : std::string();
    if (!site.empty() && !module.empty()) site += cat({" (in ", module, ")"});
  }
  return in_words(std::move(finding), names);
}

void name_model_parts(MemoryTables::Tensors& tensors, SourceFiles& sources) {
  for (MemoryTables::Holder& holder : tensors.holders)
    holder.model_part = module_path(holder.stack, sources);
}

void add_findings(Analysis& analysis, std::size_t process, const ReportOptions& options,
                  SourceFiles* files, TraceSources sources, Suppressions& suppressions,
                  Report& report) {
  std::vector<Finding> findings = std::move(analysis.findings);
  std::vector<MemoryTables::Library>& libraries = analysis.process.tables.libraries;
  for (Finding& finding : findings) {
    if (!wanted_kind(finding.kind, options)) {
      ++report.other_kinds;
      continue;
    }
    ReportedFinding reported = with_names(std::move(finding), files);
    reported.process = process;
    sources.add_lines(reported);
    if (suppressions.suppress(reported)) {
      ++report.suppressed;
    } else if (reported.bytes < options.min_bytes && size_is_the_point(reported)) {
      ++report.below_min_bytes;
    } else if (is_librarys_way(reported)) {
      if (reported.measure == Measure::kLostBlocks) add_to_library(reported, libraries);
    } else {
      report.findings.push_back(std::move(reported));
    }
  }
  std::ranges::stable_sort(libraries, std::ranges::greater{}, &MemoryTables::Library::bytes);
  note_unseen_parts(libraries, report.not_checked);
  if (!options.write_symbols) return;
  if (std::optional<std::string> failure = sources.write())
    report.remarks.push_back(std::move(*failure));
}

} // namespace

ReportedFinding reported_finding(Finding finding, SourceFiles& sources) {
  return with_names(std::move(finding), &sources);
}

void sort_findings(std::vector<ReportedFinding>& findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const ReportedFinding& a, const ReportedFinding& b) {
                     return std::tuple(b.severity, b.bytes, b.count, a.process) <
                            std::tuple(a.severity, a.bytes, a.count, b.process);
                   });
}

Report assemble_report(std::vector<Analysis> analyses, const std::vector<fs::path>& traces,
                       const ReportOptions& options) {
  Report report;
  report.tool_version = GPUMEMTRACE_VERSION;
  report.with_sources = options.sources;
  Suppressions suppressions;
  for (const fs::path& file : options.suppression_files) suppressions.add_file(file);
  add_report_gaps(analyses, traces, report.not_checked);
  symbolise(analyses, traces, options, report);
  report.no_cuda_calls = true;
  SourceFiles files;
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    report.no_cuda_calls = report.no_cuda_calls && analyses[i].process.totals.events == 0;
    if (options.sources) name_model_parts(analyses[i].process.tables.tensors, files);
    add_findings(analyses[i], i, options, options.sources ? &files : nullptr,
                 options.sources ? TraceSources(traces[i], files) : TraceSources(), suppressions,
                 report);
    report.processes.push_back(std::move(analyses[i].process));
  }
  report.suppressions = suppressions.used();
  for (std::string& remark : suppressions.remarks()) report.remarks.push_back(std::move(remark));
  sort_findings(report.findings);
  set_fingerprints(report.findings);
  report.conclusion = conclude(report, {});
  return report;
}

Report build_report(const std::vector<TraceDir>& traces, const ReportOptions& options) {
  std::vector<Analysis> analyses;
  std::vector<std::string> remarks;
  std::vector<fs::path> paths;
  for (const TraceDir& trace : traces) {
    paths.push_back(trace.path);
    TraceCode code(trace, options.write_symbols);
    AnalysisOptions analysis = options.analysis;
    analysis.history = share_of(analysis.history, traces.size());
    analysis.timeline = share_of(analysis.timeline, traces.size());
    StaticVariables variables;
    if (options.symbols) {
      analysis.find_code = std::bind_front(&TraceCode::find, &code);
      analysis.find_static = std::bind_front(&StaticVariables::find, &variables);
      analysis.find_pointer_uses = [&trace](std::span<const std::string> kernels) {
        return pointer_uses_of_kernels(trace, kernels);
      };
    }
    Analysis& analyzed = analyses.emplace_back(analyze(trace, analysis));
    std::ranges::copy(code.not_checked(), std::back_inserter(analyzed.not_checked));
    std::ranges::copy(code.remarks(), std::back_inserter(remarks));
  }
  Report report = assemble_report(std::move(analyses), paths, options);
  std::ranges::move(remarks, std::back_inserter(report.remarks));
  return report;
}

} // namespace gmt
