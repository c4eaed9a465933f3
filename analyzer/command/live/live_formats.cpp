// SPDX-License-Identifier: Apache-2.0
// Live figures as JSON, and in the text format of Prometheus.

#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/command/live/live_report.h"
#include "analyzer/report/formats/json_values.h"
#include "analyzer/report/formats/tool_words.h"

namespace gmt {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson holders_json(const std::vector<LiveHolder>& holders) {
  OrderedJson list = OrderedJson::array();
  for (const LiveHolder& holder : holders)
    list.push_back({{"name", holder.name}, {"bytes", holder.bytes}, {"blocks", holder.blocks}});
  return list;
}

OrderedJson devices_json(const LiveProcess& process) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [device, all] : process.devices)
    list.push_back({{"device", device}, {"used_bytes", all.used}, {"total_bytes", all.total}});
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
          {"devices", devices_json(process)},
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
