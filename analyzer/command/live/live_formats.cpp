// SPDX-License-Identifier: Apache-2.0
// Live figures as text as wide as the terminal, as JSON, and in the text format of Prometheus.

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/command/console.h"
#include "analyzer/command/live/live_report.h"
#include "analyzer/report/formats/json_values.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/report/formats/tool_words.h"

namespace gmt {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kColumns = 80; // where no terminal says how wide it is

std::string cut(const std::string& line) {
  const std::size_t width = ::isatty(STDOUT_FILENO) != 0 ? text_width(STDOUT_FILENO) : kColumns;
  if (text::columns(line) <= width) return line + "\n";
  std::string shorter = line;
  while (text::columns(shorter) > width - 3) shorter.pop_back();
  return shorter + "...\n";
}

std::string device_name(int device) {
  return device < 0 ? "host" : "device " + std::to_string(device);
}

std::string growth_text(std::int64_t growth) {
  if (growth == 0) return "";
  const auto size = static_cast<std::uint64_t>(growth < 0 ? -growth : growth);
  return (growth < 0 ? "-" : "+") + format_bytes(size);
}

std::string holders_text(std::string_view head, const std::vector<LiveHolder>& holders) {
  if (holders.empty()) return "";
  std::string out = cut(fmt::format("{:>12} {:>12} {:>8}  {}", "bytes", "change", "blocks", head));
  for (const LiveHolder& holder : holders) {
    out += cut(fmt::format("{:>12} {:>12} {:>8}  {}", format_bytes(holder.bytes),
                           growth_text(holder.growth), format_count(holder.blocks),
                           text::printable(holder.name)));
  }
  return out;
}

std::string process_name(const LiveProcess& process) {
  const std::string name = text::printable(base_name(process.info.executable));
  const std::string rank =
    process.info.rank ? fmt::format("   rank {}", *process.info.rank) : std::string();
  return fmt::format("{}   pid {}{}{}", name, process.info.pid, rank,
                     process.has_ended ? "   ended" : "");
}

std::string rate_text(const LiveProcess& process, double seconds) {
  const std::uint64_t made = process.totals.allocations - process.allocations_before;
  if (seconds <= 0) return "";
  return fmt::format("   {:.0f} allocations/s", static_cast<double>(made) / seconds);
}

std::string findings_text(const LiveProcess& process) {
  if (process.findings.empty()) return "";
  std::string out = "\n" + cut("newest findings of " + format_plural(process.errors, "error") +
                               ", " + format_plural(process.warnings, "warning"));
  for (const ReportedFinding& finding : process.findings) {
    out += cut(fmt::format("{:<8} {:<20} {}", tools::severity_word(finding.severity), finding.kind,
                           text::printable(finding.message)));
  }
  return out;
}

std::string table_of_processes(const std::vector<LiveProcess>& processes, double seconds) {
  std::string out = cut(fmt::format("{:>10} {:>5} {:>12} {:>12} {:>14} {:>12}", "pid", "rank",
                                    "live", "peak", "allocations", "alloc/s"));
  for (const LiveProcess& process : processes) {
    const std::uint64_t made = process.totals.allocations - process.allocations_before;
    const std::string rate =
      seconds > 0 ? fmt::format("{:.0f}", static_cast<double>(made) / seconds) : std::string("-");
    out += cut(fmt::format("{:>10} {:>5} {:>12} {:>12} {:>14} {:>12}", process.info.pid,
                           process.info.rank ? std::to_string(*process.info.rank) : "-",
                           format_bytes(process.totals.live_bytes),
                           format_bytes(process.totals.peak_bytes),
                           format_count(process.totals.allocations), rate));
  }
  return out;
}

OrderedJson holders_json(const std::vector<LiveHolder>& holders) {
  OrderedJson list = OrderedJson::array();
  for (const LiveHolder& holder : holders)
    list.push_back({{"name", holder.name}, {"bytes", holder.bytes}, {"blocks", holder.blocks}});
  return list;
}

OrderedJson process_json(const LiveProcess& process) {
  OrderedJson memory = OrderedJson::array();
  for (const LiveMemory& row : process.memory) {
    memory.push_back({{"family", row.memory_kind},
                      {"device", row.device < 0 ? OrderedJson(nullptr) : OrderedJson(row.device)},
                      {"live_bytes", row.live_bytes},
                      {"live_blocks", row.live_blocks},
                      {"peak_bytes", row.peak_bytes}});
  }
  Report owner;
  owner.processes.emplace_back().pid = process.info.pid;
  OrderedJson findings = OrderedJson::array();
  for (const ReportedFinding& finding : process.findings)
    findings.push_back(json::finding_json(finding, owner, 0));
  const Totals& totals = process.totals;
  return {{"pid", process.info.pid},
          {"rank", process.info.rank ? OrderedJson(*process.info.rank) : OrderedJson(nullptr)},
          {"host", process.info.host},
          {"program", process.info.executable},
          {"trace", process.trace},
          {"ended", process.has_ended},
          {"events", totals.events},
          {"allocations", totals.allocations},
          {"allocated_bytes", totals.allocated_bytes},
          {"frees", totals.frees},
          {"failed_allocations", process.failures},
          {"launches", totals.launches},
          {"live_bytes", totals.live_bytes},
          {"peak_bytes", totals.peak_bytes},
          {"memory", std::move(memory)},
          {"holders", holders_json(process.holders)},
          {"ranges", holders_json(process.ranges)},
          {"errors", process.errors},
          {"warnings", process.warnings},
          {"findings", std::move(findings)}};
}

// A value of a label: quoted, on one line.
std::string label(std::string_view name, std::string_view value) {
  std::string out = cat({name, "=\""});
  for (const char c : tools::clean_utf8(value)) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string labels_of(const LiveProcess& process) {
  std::string labels = label("pid", std::to_string(process.info.pid)) + "," +
                       label("host", process.info.host) + "," +
                       label("program", base_name(process.info.executable));
  if (process.info.rank) labels += "," + label("rank", std::to_string(*process.info.rank));
  return labels;
}

struct Metric {
  std::string_view name, type, help;
  std::uint64_t (*of)(const LiveProcess&);
};

constexpr Metric kMetrics[] = {
  {"device_memory_live_bytes", "gauge", "Device memory that is allocated now.",
   [](const LiveProcess& p) { return p.totals.live_bytes; }},
  {"device_memory_peak_bytes", "gauge", "The most device memory that was allocated at once.",
   [](const LiveProcess& p) { return p.totals.peak_bytes; }},
  {"allocations_total", "counter", "Allocations that CUDA accepted.",
   [](const LiveProcess& p) { return p.totals.allocations; }},
  {"allocated_bytes_total", "counter", "Their sizes added up.",
   [](const LiveProcess& p) { return p.totals.allocated_bytes; }},
  {"failed_allocations_total", "counter", "Allocations that CUDA refused.",
   [](const LiveProcess& p) { return p.failures; }},
  {"frees_total", "counter", "Releases that CUDA accepted.",
   [](const LiveProcess& p) { return p.totals.frees; }},
  {"launches_total", "counter", "Launches of kernels.",
   [](const LiveProcess& p) { return p.totals.launches; }},
  {"errors_total", "counter", "Findings of severity error that calls have shown.",
   [](const LiveProcess& p) { return p.errors; }},
};

std::string metric_head(std::string_view name, std::string_view type, std::string_view help) {
  return fmt::format("# HELP gpumemtrace_{} {}\n# TYPE gpumemtrace_{} {}\n", name, help, name,
                     type);
}

} // namespace

std::string live_text(const std::vector<LiveProcess>& processes, double seconds) {
  std::string out;
  if (processes.size() > 1) out += table_of_processes(processes, seconds) + "\n";
  const LiveProcess& largest = *std::ranges::max_element(
    processes, {}, [](const LiveProcess& p) { return p.totals.live_bytes; });
  out += cut(process_name(largest));
  out += cut(fmt::format("device memory {}, peak {}, {}{}", format_bytes(largest.totals.live_bytes),
                         format_bytes(largest.totals.peak_bytes),
                         format_plural(largest.totals.allocations, "allocation"),
                         rate_text(largest, seconds)));
  if (largest.failures != 0)
    out += cut(format_plural(largest.failures, "allocation") + " refused by CUDA");
  out += "\n" + cut(fmt::format("{:>12} {:>12} {:>8}  {}", "live", "peak", "blocks", "memory"));
  for (const LiveMemory& row : largest.memory) {
    out += cut(fmt::format("{:>12} {:>12} {:>8}  {}, {}", format_bytes(row.live_bytes),
                           format_bytes(row.peak_bytes), format_count(row.live_blocks),
                           row.memory_kind, device_name(row.device)));
  }
  if (!largest.holders.empty()) out += "\n" + holders_text("allocated at", largest.holders);
  if (!largest.ranges.empty()) out += "\n" + holders_text("allocated in range", largest.ranges);
  return out + findings_text(largest);
}

std::string live_json(const std::vector<LiveProcess>& processes) {
  OrderedJson list = OrderedJson::array();
  for (const LiveProcess& process : processes) list.push_back(process_json(process));
  const OrderedJson all = {{"schema", 1}, {"processes", std::move(list)}};
  return all.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string live_prometheus(const std::vector<LiveProcess>& processes) {
  std::string out;
  for (const Metric& metric : kMetrics) {
    out += metric_head(metric.name, metric.type, metric.help);
    for (const LiveProcess& process : processes)
      out += fmt::format("gpumemtrace_{}{{{}}} {}\n", metric.name, labels_of(process),
                         metric.of(process));
  }
  out += metric_head("memory_live_bytes", "gauge", "Memory that is allocated now, by kind.");
  for (const LiveProcess& process : processes) {
    for (const LiveMemory& row : process.memory) {
      out += fmt::format("gpumemtrace_memory_live_bytes{{{},{},{}}} {}\n", labels_of(process),
                         label("device", row.device < 0 ? "host" : std::to_string(row.device)),
                         label("family", row.memory_kind), row.live_bytes);
    }
  }
  return out;
}

} // namespace gmt
