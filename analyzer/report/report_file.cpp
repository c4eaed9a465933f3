// SPDX-License-Identifier: Apache-2.0
// JSON reports as input, see report_file.h. What is missing or of another type counts as empty:
// only a file that is no report at all is refused.
#include "analyzer/report/report_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "analyzer/base/user_error.h"
#include "analyzer/report/fingerprint.h"

namespace gmt {
namespace {

using ReportJson = nlohmann::ordered_json;

const ReportJson& member(const ReportJson& object, const char* key) {
  static const ReportJson none;
  if (!object.is_object()) return none;
  const auto at = object.find(key);
  return at == object.end() ? none : *at;
}

std::string text_in(const ReportJson& object, const char* key) {
  const ReportJson& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::uint64_t number_in(const ReportJson& object, const char* key) {
  const ReportJson& value = member(object, key);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

bool flag_in(const ReportJson& object, const char* key) {
  const ReportJson& value = member(object, key);
  return value.is_boolean() && value.get<bool>();
}

Severity severity_in(const ReportJson& object) {
  const std::string word = text_in(object, "severity");
  if (word == "error") return Severity::kError;
  return word == "warning" ? Severity::kWarning : Severity::kNote;
}

Frame frame_from(const ReportJson& object) {
  Frame frame;
  frame.function = text_in(object, "function");
  frame.file = text_in(object, "file");
  frame.line =
    static_cast<std::uint32_t>(std::min<std::uint64_t>(number_in(object, "line"), UINT32_MAX));
  frame.module = text_in(object, "module");
  frame.inlined = flag_in(object, "inlined");
  frame.tail_call = flag_in(object, "tail_call");
  frame.language = text_in(object, "language");
  return frame;
}

LabelledStack stack_from(const ReportJson& object) {
  LabelledStack stack;
  stack.label = text_in(object, "label");
  stack.api = text_in(object, "api");
  for (const ReportJson& frame : member(object, "frames"))
    stack.frames.push_back(frame_from(frame));
  if (const ReportJson& device = member(object, "device"); device.is_object())
    stack.device = DeviceThread{.kernel = text_in(device, "kernel")};
  return stack;
}

ReportedFinding finding_from_report(const ReportJson& object) {
  ReportedFinding finding;
  finding.kind = text_in(object, "kind");
  finding.severity = severity_in(object);
  finding.message = text_in(object, "message");
  finding.advice = text_in(object, "advice");
  finding.api = text_in(object, "api");
  finding.owner = text_in(object, "owner");
  finding.bytes = number_in(object, "bytes");
  finding.count = std::max<std::uint64_t>(number_in(object, "count"), 1);
  for (const ReportJson& stack : member(object, "stacks"))
    finding.stacks.push_back(stack_from(stack));
  if (const ReportJson& access = member(object, "access"); access.is_object())
    finding.access.emplace().kernel = text_in(access, "kernel");
  return finding;
}

ProcessReport process_from(const ReportJson& object) {
  ProcessReport process;
  const ReportJson& totals = member(object, "totals");
  process.executable = text_in(object, "program");
  process.totals.peak_bytes = number_in(totals, "peak_bytes");
  process.totals.live_bytes = number_in(totals, "live_bytes");
  for (const ReportJson& row : member(member(object, "memory"), "holders_at_peak")) {
    MemoryTables::Holder holder;
    holder.bytes = number_in(row, "bytes");
    holder.blocks = number_in(row, "blocks");
    static_cast<CallStack&>(holder.stack) = stack_from(member(row, "stack"));
    process.tables.holders.push_back(std::move(holder));
  }
  return process;
}

// Source lines are no part of a report, and frames may be: both fingerprints are taken as they
// stand.
void take_written_fingerprints(const ReportJson& written, std::vector<ReportedFinding>& findings) {
  for (std::size_t i = 0; i < findings.size(); ++i) {
    std::string fingerprint = text_in(written[i], "fingerprint");
    if (!has_source_line(fingerprint)) continue;
    findings[i].fingerprint = std::move(fingerprint);
    if (std::string old = text_in(written[i], "fingerprint_v1"); !old.empty())
      findings[i].function_fingerprint = std::move(old);
  }
}

// Of a later version there may be others.
std::optional<Failure> failure_from(const ReportJson& object) {
  using Reason = Failure::Reason;
  const std::string word = text_in(object, "reason");
  for (auto reason = Reason::kUnchecked;;
       reason = static_cast<Reason>(static_cast<int>(reason) + 1)) {
    if (id_of(reason) == word) return Failure{reason, {}, text_in(object, "message")};
    if (reason == Reason::kProgram) return std::nullopt;
  }
}

} // namespace

Report parse_report(std::string_view text, const std::string& name) {
  const ReportJson json = ReportJson::parse(text, nullptr, false);
  if (number_in(json, "schema") != 1 || !member(json, "findings").is_array())
    throw UserError("'" + name + "' is neither a trace nor a JSON report of schema 1",
                    ExitStatus::kUsage);
  Report report;
  report.no_cuda_calls = flag_in(json, "no_cuda_calls");
  for (const ReportJson& process : member(json, "processes"))
    report.processes.push_back(process_from(process));
  for (const ReportJson& finding : member(json, "findings"))
    report.findings.push_back(finding_from_report(finding));
  report.is_concluded = member(json, "conclusion").is_object();
  for (const ReportJson& failure : member(member(json, "conclusion"), "failures"))
    if (auto known = failure_from(failure)) report.conclusion.failures.push_back(std::move(*known));
  set_fingerprints(report.findings);
  take_written_fingerprints(member(json, "findings"), report.findings);
  return report;
}

} // namespace gmt
