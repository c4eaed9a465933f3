// SPDX-License-Identifier: Apache-2.0
// The report for people: how the program ended, what is wrong, where, and what to do; then
// everything that limits how far the report may be trusted; the SUMMARY line is always there and
// always last. No colour carries anything that the words do not. The same findings are worded the
// same way every time, so that scripts may match them.
#include <algorithm>
#include <map>
#include <ostream>
#include <string>

#include <fmt/format.h>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/report/output_format.h"

namespace gmt {
namespace {

using namespace text;

Page page_of(const OutputOptions& options) { return {options.width, options.color, options.links}; }

std::string facts(const ProcessReport& process) {
  return fmt::format("pid {}   {}   {}   ended: {}", process.pid,
                     format_plural(process.totals.threads, "thread"),
                     format_plural(process.totals.events, "event"), ending_words(process.ended));
}

// One line if it fits, else the facts on a line of their own.
std::string head_line(const std::string& title, const ProcessReport& process,
                      const std::string& fact, std::size_t width) {
  const std::string program = title + "   " + command_line(process);
  if (columns(program) + 3 + columns(fact) <= width) return program + "   " + fact + "\n";
  const std::string facts = "  " + fact + "\n";
  return (columns(program) <= width ? program + "\n" : wrap(program, 4, 0, width)) +
         (columns(facts) <= width + 1 ? facts : wrap(fact, 4, 2, width));
}

// A run's remark on where its trace is stands in the head: in a long report it must not be missed.
bool is_on_trace(const std::string& remark) { return remark.starts_with("trace: "); }

void add_header(std::string& out, const Report& report, const Page& page) {
  const std::string title = "gpumemtrace " + report.tool_version;
  if (report.processes.empty()) {
    out += title + "\n";
  } else if (report.processes.size() == 1) {
    out += head_line(title, report.processes[0], facts(report.processes[0]), page.width);
  } else {
    out += head_line(title, report.processes[0],
                     fmt::format("{} processes   ended: {}", format_count(report.processes.size()),
                                 ending_words(report.processes[0].ended)),
                     page.width);
  }
  for (const std::string& remark : report.remarks)
    if (is_on_trace(remark)) out += wrap(printable(remark), 4, 2, page.width);
  out += device_line(report, page);
  if (report.conclusion.find(Failure::Reason::kNoCalls) != nullptr) {
    out += "  nothing was checked: no CUDA call was seen\n";
  }
}

// Processes in which nothing was found are named only if they did not end well; the rest is a
// number.
void add_processes(std::string& out, const Report& report, const OutputOptions& options,
                   const std::vector<ReportedFinding>& shown) {
  std::size_t quiet = 0;
  for (const ReportedFinding& finding : shown) {
    if (!finding.shared.empty())
      out += "\n" + finding_text(finding, options.stack_depth, page_of(options));
  }
  for (std::size_t p = 0; p < report.processes.size(); ++p) {
    const auto is_of_this = [p](const ReportedFinding& finding) { return finding.process == p; };
    const bool any = std::ranges::any_of(report.findings, is_of_this);
    std::string text;
    for (const ReportedFinding& finding : shown) {
      if (is_of_this(finding) && finding.shared.empty())
        text += "\n" + finding_text(finding, options.stack_depth, page_of(options));
    }
    const ProcessReport& process = report.processes[p];
    const bool ended_well = process.ended.how == Ending::How::kExited && process.ended.status == 0;
    if (!ended_well && text.empty()) text = any ? "  no other findings\n" : "  no findings\n";
    if (!any && ended_well) ++quiet;
    if (!text.empty())
      out += "\n" + head_line("process", process, facts(process), options.width) + text;
  }
  if (quiet != 0) {
    const bool all = quiet == report.processes.size(); // of several, see above
    out += fmt::format("\nno findings in {}\n", all ? format_count(quiet) + " processes"
                                                    : format_plural(quiet, "other process"));
  }
}

void add_findings(std::string& out, const Report& report, const OutputOptions& options,
                  const std::vector<ReportedFinding>& shown) {
  if (report.processes.size() > 1) return add_processes(out, report, options, shown);
  for (const ReportedFinding& finding : shown) {
    out += "\n" + finding_text(finding, options.stack_depth, page_of(options));
  }
}

// How many of the findings fit into so many lines.
std::size_t fitting(const std::vector<ReportedFinding>& shown, const OutputOptions& options) {
  std::size_t lines = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::string text = finding_text(shown[i], options.stack_depth, page_of(options));
    lines += 1 + static_cast<std::size_t>(std::ranges::count(text, '\n'));
    if (lines > options.finding_lines) return i;
  }
  return shown.size();
}

// Leaves out what does not fit into options.finding_lines. Stacks lose outer frames first where
// not even one finding fits. Returns how many were left out.
std::size_t keep_lines(std::vector<ReportedFinding>& shown, OutputOptions& options) {
  if (options.finding_lines == 0 || shown.empty()) return 0;
  std::size_t count = fitting(shown, options);
  for (unsigned depth : {12u, 6u, 3u, 1u}) {
    if (count != 0) break;
    options.stack_depth = depth;
    count = fitting(shown, options);
  }
  const std::size_t more = shown.size() - count;
  shown.resize(count);
  return more;
}

void add_held_back(std::string& out, const Report& report, std::size_t more,
                   std::size_t more_in_files, std::size_t width) {
  if (more_in_files != 0) {
    out += fmt::format("{} not shown here: the files below have all\n",
                       format_plural(more_in_files, "more finding"));
  }
  if (more != 0) {
    out += fmt::format("{} not shown: --limit 0 shows all\n", format_plural(more, "more finding"));
  }
  if (report.in_baseline != 0) {
    out +=
      fmt::format("{} not shown: in the baseline\n", format_plural(report.in_baseline, "finding"));
  }
  if (report.below_min_bytes != 0) {
    out += fmt::format("{} not shown: smaller than --min-bytes\n",
                       format_plural(report.below_min_bytes, "finding"));
  }
  if (report.other_kinds != 0) {
    out += fmt::format("{} not shown: of kinds that were not asked for\n",
                       format_plural(report.other_kinds, "finding"));
  }
  if (report.suppressed != 0) {
    std::string rules;
    for (const SuppressionUse& use : report.suppressions) {
      rules += fmt::format("{}{}: {} {}", rules.empty() ? "" : ", ", use.file, use.rule,
                           format_count(use.findings));
    }
    out += wrap(
      printable(fmt::format("{} suppressed by {} ({})", format_plural(report.suppressed, "finding"),
                            format_plural(report.suppressions.size(), "rule"), rules)),
      2, 0, width);
  }
}

// Once, where a kernel of the program's own is shown without its line.
void add_line_hint(std::string& out, const std::vector<ReportedFinding>& shown, std::size_t width) {
  const auto has_no_line = [](const CallStack& stack) {
    return stack.device && std::ranges::any_of(stack.frames, [](const Frame& frame) {
             return frame.file.empty() && frame.module.empty() && frame.address == 0;
           });
  };
  const bool is_any = std::ranges::any_of(shown, [&](const ReportedFinding& finding) {
    return finding.owner.empty() && std::ranges::any_of(finding.stacks, has_no_line);
  });
  if (!is_any) return;
  out += wrap("(line unknown): compile kernels with -lineinfo (nvcc; -g for the host's lines) or "
              "@cuda.jit(lineinfo=True) (Numba) to see their lines",
              2, 0, width);
}

void add_losses(std::string& out, const Report& report, std::size_t width) {
  std::map<std::string, std::uint64_t> causes;
  std::uint64_t torn = 0, sum = 0;
  for (const ProcessReport& process : report.processes) {
    for (const auto& [cause, records] : process.lost) causes[cause] += records;
    if (process.damaged != 0) causes["damaged in the trace"] += process.damaged;
    torn += process.torn;
    sum += process.lost_events();
  }
  if (sum != 0) {
    std::string words;
    for (const auto& [cause, records] : causes) {
      if (records != 0)
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", cause, format_count(records));
    }
    out += wrap(printable(fmt::format(
                  "{} lost ({}): findings may be missing, and a leak may be a free that was lost",
                  format_plural(sum, "event"), words)),
                2, 0, width);
  }
  if (torn != 0) {
    out += fmt::format("{} never finished: a signal or the process's end cut in\n",
                       format_plural(torn, "record"));
  }
}

void add_not_checked(std::string& out, const Report& report, std::size_t width) {
  if (!report.not_checked.empty()) {
    const std::size_t widest = width * 28 / 100;
    std::size_t column = 0;
    for (const NotChecked& entry : report.not_checked) {
      if (columns(entry.what) <= widest) column = std::max(column, columns(entry.what));
    }
    out += "not checked:\n";
    for (const NotChecked& entry : report.not_checked) {
      const bool fits = columns(entry.what) <= widest;
      const std::string what = fits ? pad(entry.what, column) + "  " : entry.what + ": ";
      // The column's own spaces must not be taken for the wrapping of words.
      const std::string why =
        wrap(printable(entry.why), fits ? column + 4 : 4, fits ? column + 4 : 4, width);
      if (fits) out += "  " + printable(what) + why.substr(column + 4);
      else out += wrap(printable(what + entry.why), 4, 2, width);
    }
  }
  for (const std::string& remark : report.remarks)
    if (!is_on_trace(remark)) out += wrap(printable(remark), 2, 0, width);
}

void add_totals(std::string& out, const Report& report, std::size_t width) {
  if (report.processes.empty()) return;
  std::uint64_t peak = 0, allocated = 0, calls = 0, live = 0, blocks = 0;
  std::uint64_t in_kernels = 0, heap_peak = 0, heap_live = 0;
  for (const ProcessReport& process : report.processes) {
    peak = std::max(peak, process.totals.peak_bytes);
    allocated += process.totals.allocated_bytes;
    calls += process.totals.allocations;
    live += process.totals.live_bytes;
    blocks += process.totals.live_blocks;
    in_kernels += process.totals.device_heap_calls;
    heap_peak = std::max(heap_peak, process.totals.device_heap_peak_bytes);
    heap_live += process.totals.device_heap_live_bytes;
  }
  std::string range;
  for (const ProcessReport& process : report.processes) {
    if (process.totals.peak_bytes == peak) range = process.totals.peak_range;
  }
  out += wrap(fmt::format("peak {}{}{}", format_bytes(peak),
                          report.processes.size() > 1 ? " of device memory in one process"
                                                      : " of device memory",
                          range.empty() ? "" : ", in range " + printable(range)),
              2, 0, width);
  out += wrap(fmt::format("in all, host memory included: allocated {} in {}, live at end {}{}",
                          format_bytes(allocated), format_plural(calls, "call"), format_bytes(live),
                          blocks == 0 ? "" : " in " + format_plural(blocks, "block")),
              2, 0, width);
  if (in_kernels == 0) return;
  out += wrap(fmt::format("device heap, not counted above: {} in kernels, peak {}, live at end {}",
                          format_plural(in_kernels, "call"), format_bytes(heap_peak),
                          format_bytes(heap_live)),
              2, 0, width);
}

// What the baseline knows is only counted.
Report without_known(const Report& report) {
  Report rest = report;
  rest.in_baseline = std::erase_if(rest.findings, [](const ReportedFinding& finding) {
    return finding.baseline == BaselineState::kKnown;
  });
  return rest;
}

bool knows_some(const Report& report) {
  return std::ranges::any_of(report.findings, [](const ReportedFinding& finding) {
    return finding.baseline == BaselineState::kKnown;
  });
}

void write_text(const Report& report, const OutputOptions& given, std::ostream& stream) {
  if (knows_some(report)) return write_text(without_known(report), given, stream);
  OutputOptions options = given;
  const Page page = page_of(options);
  std::string out;
  add_header(out, report, page);
  std::vector<ReportedFinding> shown = once_for_all_ranks(report, with_libraries_in_brief(report));
  const std::size_t all = shown.size();
  if (options.limit != 0 && options.limit < all) shown.resize(options.limit);
  const std::size_t limited = all - shown.size();
  const std::size_t in_files = keep_lines(shown, options);
  add_findings(out, report, options, shown);
  std::string tail;
  add_held_back(tail, report, limited, in_files, page.width);
  add_line_hint(tail, shown, page.width);
  add_losses(tail, report, page.width);
  add_not_checked(tail, report, page.width);
  if (!tail.empty()) out += "\n" + tail;
  out += "\n";
  if (const std::string where = access_tables(report, options.tables, page); !where.empty())
    out += where + "\n";
  if (const std::string kernels = fidelity_table(report, options.tables, page); !kernels.empty())
    out += kernels + "\n";
  if (const std::string ranks = rank_table(report, options.tables, page); !ranks.empty())
    out += ranks + "\n";
  if (const std::string memory = tables(report, options.tables, page); !memory.empty())
    out += memory + "\n";
  add_totals(out, report, page.width);
  out += summary(report) + "\n";
  stream << out;
}

const OutputRegistration kText{
  {.id = "text", .title = "for people; what is printed by default", .write = write_text}};

} // namespace
} // namespace gmt
