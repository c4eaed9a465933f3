// SPDX-License-Identifier: Apache-2.0
// Where memory traffic went, as aligned columns: the source lines that waste most of it, and the
// kernels with how much of them was measured. Only where --coalescing measured something.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "analyzer/base/text_format.h"
#include "analyzer/coalescing/kernel_counters.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/symbols/demangle.h"

namespace gmt::text {
namespace {

constexpr std::size_t kKernels = 5; // rows that are shown without being asked for
constexpr std::size_t kWidestKernel = 36;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// "samples/transpose.cu:44", "at 0x120" without lines.
std::string line_of(const AccessFigures& f, const std::string& folder) {
  if (f.file.empty()) return fmt::format("at {}", format_address(f.offset));
  Frame frame;
  frame.file = f.file;
  frame.line = f.line;
  return location(frame, folder);
}

using Names = std::map<std::string, std::string>;

Names names_of(const AccessTables& tables) {
  std::vector<std::string> kernels;
  for (const AccessTables::Kernel& k : tables.kernels) kernels.push_back(k.kernel);
  for (const AccessFigures& f : tables.lines) kernels.push_back(f.kernel);
  return distinct_names(kernels, kWidestKernel);
}

void add_heading(std::string& out, const AccessTables& tables, std::size_t page_width) {
  std::string heading =
    fmt::format("global memory: {} moved in all launches", format_bytes(tables.moved_bytes));
  if (tables.moved_bytes != 0) {
    heading += fmt::format(", {} of it in vain",
                           tables.wasted_bytes == 0 ? "none" : format_bytes(tables.wasted_bytes));
  }
  if (tables.measured < tables.launches) {
    out +=
      wrap(fmt::format(
             "{} of {} launches were measured{}; numbers for all take the others to be like them",
             format_count(tables.measured), format_count(tables.launches),
             tables.put_off == 0
               ? ""
               : fmt::format(", {} more were put off to save time", format_count(tables.put_off))),
           2, 0, page_width);
  }
  out +=
    wrap(heading + (tables.lines.empty() ? "" : "; the lines that waste most"), 2, 0, page_width);
}

void add_lines(std::string& out, const AccessTables& tables, const Names& names,
               std::size_t page_width) {
  if (tables.lines.empty()) return;
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  Table table{{"wasted", "of all", "x ideal"}, {}};
  std::vector<std::string> sources;
  std::size_t width = 0;
  for (const AccessFigures& f : tables.lines) {
    table.rows.push_back(
      {format_bytes(f.wasted_bytes), percent(f.share), fmt::format("{:.2f}", f.ratio())});
    width = std::max(width, columns(sources.emplace_back(line_of(f, folder))));
  }
  std::string lines = lines_of(table, table.rows.size(), 0, kFileWidth); // four narrow columns
  std::size_t row = 0;
  for (std::size_t begin = 0; begin < lines.size(); ++row) {
    const std::size_t end = lines.find('\n', begin);
    std::string line = lines.substr(begin, end - begin);
    if (row == 0) {
      line += "   line";
    } else {
      const AccessFigures& f = tables.lines[row - 1];
      const std::string_view operation = word_of(f.operation);
      const std::string what =
        f.width == 0 ? std::string(operation) : fmt::format("{}-byte {}", f.width, operation);
      const std::string tail = fmt::format("{}{}", what, f.brief.empty() ? "" : ", " + f.brief);
      const std::string rest = fmt::format("{}  {} in {}", pad(sources[row - 1], width), tail,
                                           printable(names.at(f.kernel)));
      const bool is_too_long =
        page_width < kFileWidth && columns(line) + 3 + columns(rest) > page_width;
      if (is_too_long) line.append("\n").append(wrap(rest, 8, 6, page_width)).pop_back();
      else line += "   " + rest;
    }
    out += line + "\n";
    begin = end + 1;
  }
}

void add_kernels(std::string& out, const AccessTables& tables, const Names& names,
                 TableChoice choice, std::size_t page_width) {
  if (tables.kernels.empty()) return;
  Table table{{"kernel", "launches", "measured", "sectors a request", "efficiency", "wasted"}, {}};
  const bool all = choice == TableChoice::kAll;
  const std::size_t count = all ? tables.kernels.size() : std::min(kKernels, tables.kernels.size());
  for (std::size_t i = 0; i < count; ++i) {
    const AccessTables::Kernel& k = tables.kernels[i];
    const bool idle = k.requests == 0; // no global memory
    table.rows.push_back(
      {printable(names.at(k.kernel)), k.is_kernel ? format_count(k.launches) : "(device)",
       k.is_kernel ? format_count(k.measured) : "-",
       idle ? "-" : fmt::format("{:.1f}", k.sectors_per_request()),
       idle ? "-" : percent(k.efficiency()), idle ? "-" : format_bytes(k.wasted_bytes)});
  }
  out += lines_of(table, count, 0, page_width);
  if (const std::size_t more = tables.kernels.size() - count; more != 0) {
    out += fmt::format("  {} not shown: --tables all shows all\n", format_plural(more, "more row"));
  }
}

std::string optional_percent(const std::optional<double>& share) {
  return share ? percent(*share) : "-";
}
std::string optional_number(const std::optional<double>& number) {
  return number ? fmt::format("{:.1f}", *number) : "-";
}
std::string optional_bytes(const std::optional<double>& bytes) {
  return bytes ? format_bytes(static_cast<std::uint64_t>(*bytes)) : "-";
}
std::string bandwidth(const KernelCounters& c) {
  const std::optional<double> rate = bytes_a_second(c);
  return rate ? fmt::format("{:.1f}", *rate / 1e9) : "-";
}

// Means of the launches that were counted by themselves; those that move most in all first.
void add_counters(std::string& out, const AccessTables& tables, const Names& names,
                  TableChoice choice, std::size_t page_width) {
  const std::vector<const AccessTables::Kernel*> counted = tables.counted();
  if (counted.empty()) return;
  Table table{{"each launch of", "counted", "time", "read", "written", "GB/s", "of peak", "L1 hits",
               "L2 hits", "sectors a load", "a store"},
              {}};
  const std::size_t count =
    choice == TableChoice::kAll ? counted.size() : std::min(kKernels, counted.size());
  for (std::size_t i = 0; i < count; ++i) {
    const KernelCounters& c = counted[i]->counters;
    const std::optional<double> time = mean(c.nanoseconds);
    table.rows.push_back({printable(names.at(counted[i]->kernel)), format_count(c.launches),
                          time ? format_duration(*time) : "-", optional_bytes(mean(c.read_bytes)),
                          optional_bytes(mean(c.written_bytes)), bandwidth(c),
                          optional_percent(share_of_peak(c)), optional_percent(l1_hit_rate(c)),
                          optional_percent(l2_hit_rate(c)), optional_number(sectors_a_load(c)),
                          optional_number(sectors_a_store(c))});
  }
  out += lines_of(table, count, 0, page_width);
  if (const std::size_t more = counted.size() - count; more != 0) {
    out += fmt::format("  {} not shown: --tables all shows all\n", format_plural(more, "more row"));
  }
}

} // namespace

std::string access_tables(const Report& report, TableChoice choice, const Page& page) {
  if (choice == TableChoice::kNone) return "";
  const ProcessReport* most = nullptr;
  std::size_t others = 0;
  for (const ProcessReport& process : report.processes) {
    if (!process.accesses) continue;
    ++others;
    if (most == nullptr || process.accesses->moved_bytes > most->accesses->moved_bytes)
      most = &process;
  }
  if (most == nullptr) return "";
  std::string out;
  const Names names = names_of(*most->accesses);
  if (!most->accesses->kernels.empty()) add_heading(out, *most->accesses, page.width);
  add_lines(out, *most->accesses, names, page.width);
  add_kernels(out, *most->accesses, names, choice, page.width);
  add_counters(out, *most->accesses, names, choice, page.width);
  if (!out.empty() && others > 1) {
    return fmt::format("of the process whose kernels moved most, pid {}:\n", most->pid) + out;
  }
  return out;
}

} // namespace gmt::text
