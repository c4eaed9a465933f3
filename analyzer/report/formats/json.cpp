// SPDX-License-Identifier: Apache-2.0
// The report for programs: docs/report-json.md documents every field, docs/report.schema.json is
// its schema, and tests/report holds this file to it. Fields are only ever added while "schema"
// stays 1. Invariant: any bytes from the traced program give valid JSON; what is no UTF-8 is
// replaced.
#include <algorithm>
#include <chrono>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/json_parts.h"
#include "analyzer/report/formats/json_stack.h"
#include "analyzer/report/formats/json_values.h"
#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"

namespace gmt {
namespace {

using Json = nlohmann::ordered_json; // keys in the order of the documentation
using json::number_or_null;
using json::text_or_null;

constexpr int kSchema = 1;

// "2026-11-27T06:13:31Z" (ISO 8601) of nanoseconds since 1970.
std::string utc_time(std::uint64_t nanoseconds) {
  using namespace std::chrono;
  const sys_seconds time{seconds(nanoseconds / 1'000'000'000)};
  const sys_days day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

Json json_of(const Ending& ending) {
  const bool exited = ending.how == Ending::How::kExited,
             signalled = ending.how == Ending::How::kSignalled;
  return {{"how", tools::ending_word(ending.how)},
          {"status", exited ? Json(ending.status) : Json(nullptr)},
          {"signal", signalled ? Json(ending.signal) : Json(nullptr)}};
}

Json json_of(const Totals& t) {
  return {{"events", t.events},
          {"threads", t.threads},
          {"allocations", t.allocations},
          {"allocated_bytes", t.allocated_bytes},
          {"frees", t.frees},
          {"copies", t.copies},
          {"copied_bytes", t.copied_bytes},
          {"launches", t.launches},
          {"peak_bytes", t.peak_bytes},
          {"peak_range", text_or_null(t.peak_range)},
          {"live_bytes", t.live_bytes},
          {"live_blocks", t.live_blocks},
          {"device_heap_calls", t.device_heap_calls},
          {"device_heap_peak_bytes", t.device_heap_peak_bytes},
          {"device_heap_live_bytes", t.device_heap_live_bytes}};
}

Json json_of(const Conclusion& conclusion) {
  Json failures = Json::array();
  for (const Failure& failure : conclusion.failures)
    failures.push_back({{"reason", id_of(failure.reason)}, {"message", failure.sentence}});
  Json launches = nullptr;
  if (const std::optional<LaunchCounts>& counts = conclusion.launches; counts) {
    launches = {{"launches", counts->all},        {"ran", counts->ran},
                {"unable", counts->unable},       {"left_out", counts->left_out},
                {"cut_short", counts->cut_short}, {"unknown", counts->unknown()}};
  }
  return {{"passed", conclusion.passed()},
          {"status", conclusion.status},
          {"failures", std::move(failures)},
          {"launches", std::move(launches)}};
}

// Sums, but the peaks: processes need not have had theirs at the same time.
Totals totals_of(const Report& report) {
  Totals sum;
  for (const ProcessReport& process : report.processes) {
    const Totals& t = process.totals;
    sum.events += t.events;
    sum.threads += t.threads;
    sum.allocations += t.allocations;
    sum.allocated_bytes += t.allocated_bytes;
    sum.frees += t.frees;
    sum.copies += t.copies;
    sum.copied_bytes += t.copied_bytes;
    sum.launches += t.launches;
    if (t.peak_bytes > sum.peak_bytes) sum.peak_range = t.peak_range;
    sum.peak_bytes = std::max(sum.peak_bytes, t.peak_bytes);
    sum.live_bytes += t.live_bytes;
    sum.live_blocks += t.live_blocks;
    sum.device_heap_calls += t.device_heap_calls;
    sum.device_heap_peak_bytes = std::max(sum.device_heap_peak_bytes, t.device_heap_peak_bytes);
    sum.device_heap_live_bytes += t.device_heap_live_bytes;
  }
  return sum;
}

Json json_of(const ProcessReport& process, unsigned depth) {
  Json lost = Json::object();
  for (const auto& [cause, records] : process.lost) lost[cause] = records;
  return {
    {"pid", process.pid},
    {"host", process.host},
    {"program", process.executable},
    {"arguments", process.arguments},
    {"ended", json_of(process.ended)},
    {"trace", process.trace},
    {"device", process.device.empty() ? "real" : process.device},
    {"rank", number_or_null(process.rank)},
    {"driver_version", text_or_null(process.driver_version)},
    {"began", process.began_ns == 0 ? Json(nullptr) : Json(utc_time(process.began_ns))},
    {"devices", process.devices},
    {"totals", json_of(process.totals)},
    {"memory", json::memory_json(process.tables, depth)},
    {"accesses", process.accesses ? json::accesses_json(*process.accesses) : Json(nullptr)},
    {"kernels", process.executions ? json::executions_json(*process.executions) : Json(nullptr)},
    {"lost", std::move(lost)},
    {"damaged", process.damaged},
    {"torn", process.torn}};
}

Json json_of(const ReportedFinding& finding, const Report& report, unsigned depth) {
  Json stacks = Json::array();
  for (const LabelledStack& stack : finding.stacks)
    stacks.push_back(json::stack_json(stack, stack.label, depth));
  const bool known = finding.process < report.processes.size();
  return {{"kind", finding.kind},
          {"severity", tools::severity_word(finding.severity)},
          {"fingerprint", text_or_null(finding.fingerprint)},
          {"fingerprint_v1", text_or_null(finding.function_fingerprint)},
          {"baseline", text_or_null(std::string(tools::baseline_word(finding.baseline)))},
          {"message", finding.message},
          {"advice", finding.advice},
          {"bytes", finding.bytes},
          {"count", finding.count},
          {"address", finding.address ? Json(format_address(*finding.address)) : Json(nullptr)},
          {"range", text_or_null(finding.range)},
          {"api", text_or_null(finding.api)},
          {"owner", text_or_null(finding.owner)},
          {"process", known ? Json(report.processes[finding.process].pid) : Json(nullptr)},
          {"process_index", finding.process},
          {"stacks", std::move(stacks)},
          {"held", finding.held ? json::held_json(*finding.held) : Json(nullptr)},
          {"access", finding.access ? json::access_json(*finding.access) : Json(nullptr)},
          {"fault", finding.fault ? json::fault_json(*finding.fault) : Json(nullptr)}};
}

void add_program(Json& out, const Report& report) {
  if (report.processes.empty()) {
    out["program"] = nullptr;
    out["ended"] = json_of(Ending{});
    out["device"] = nullptr;
    return;
  }
  const ProcessReport& first = report.processes.front();
  out["program"] = {{"path", first.executable}, {"arguments", first.arguments}, {"pid", first.pid}};
  out["ended"] = json_of(first.ended);
  out["device"] = first.device.empty() ? "real" : first.device;
}

void add_findings(Json& out, const Report& report, const OutputOptions& options) {
  const std::size_t all = report.findings.size();
  const std::size_t count = options.limit == 0 ? all : std::min(options.limit, all);
  Json& findings = out["findings"] = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    findings.push_back(json_of(report.findings[i], report, options.stack_depth));
  }
  out["not_shown"] = {
    {"limit", all - count}, {"min_bytes", report.below_min_bytes}, {"kinds", report.other_kinds}};
  out["suppressed"] = report.suppressed;
  Json& rules = out["suppressions"] = Json::array();
  for (const SuppressionUse& use : report.suppressions) {
    rules.push_back({{"rule", use.rule}, {"file", use.file}, {"findings", use.findings}});
  }
}

void write_json(const Report& report, const OutputOptions& options, std::ostream& stream) {
  Json out;
  out["schema"] = kSchema;
  out["tool"] = {{"name", "gpumemtrace"}, {"version", report.tool_version}};
  add_program(out, report);
  Json& processes = out["processes"] = Json::array();
  std::uint64_t lost = 0;
  for (const ProcessReport& process : report.processes) {
    processes.push_back(json_of(process, options.stack_depth));
    lost += process.lost_events();
  }
  out["no_cuda_calls"] = report.no_cuda_calls;
  out["conclusion"] = json_of(report.conclusion);
  out["summary"] = {{"errors", report.count(Severity::kError)},
                    {"warnings", report.count(Severity::kWarning)},
                    {"notes", report.count(Severity::kNote)}};
  add_findings(out, report, options);
  Json& not_checked = out["not_checked"] = Json::array();
  for (const NotChecked& entry : report.not_checked) {
    not_checked.push_back({{"what", entry.what}, {"why", entry.why}});
  }
  out["remarks"] = report.remarks;
  out["lost_events"] = lost;
  out["totals"] = json_of(totals_of(report));
  stream << out.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

const OutputRegistration kJson{
  {.id = "json", .title = "for programs; see docs/report-json.md", .write = write_json}};

} // namespace

Json json::finding_json(const ReportedFinding& finding, const Report& report, unsigned depth) {
  return json_of(finding, report, depth);
}

} // namespace gmt
