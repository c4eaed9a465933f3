// SPDX-License-Identifier: Apache-2.0
// One finding as text, and the line that sums all of them up. See text_layout.h.
//
//   error    double-free             2 times
//     What happened.
//     in range epoch 2 / forward
//       (its stacks: text_stacks.cpp)
//     What to do.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/text_layout.h"

namespace gmt::text {
namespace {

std::string_view severity_word(Severity severity) {
  switch (severity) {
  case Severity::kError: return "error";
  case Severity::kWarning: return "warning";
  case Severity::kNote: break;
  }
  return "note";
}

std::string_view severity_color(Severity severity) {
  switch (severity) {
  case Severity::kError: return "1;31";
  case Severity::kWarning: return "1;33";
  case Severity::kNote: break;
  }
  return "1;36";
}

struct KindSum {
  std::string kind;
  std::uint64_t findings = 0, bytes = 0;
};

// "(1 double-free, 2 leaks 64.0 MiB)" for errors and warnings, in the order of the report.
std::string kinds_in_brief(const Report& report) {
  std::vector<KindSum> sums;
  for (const ReportedFinding& finding : report.findings) {
    if (finding.severity == Severity::kNote) continue;
    auto at = std::find_if(sums.begin(), sums.end(),
                           [&](const KindSum& s) { return s.kind == finding.kind; });
    if (at == sums.end()) at = sums.insert(sums.end(), {finding.kind, 0, 0});
    ++at->findings;
    if (finding.measure == Measure::kLostBlocks) at->bytes += finding.bytes;
  }
  std::string text;
  for (const KindSum& sum : sums) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", sum.findings, sum.kind);
    if (sum.bytes != 0) text += " " + format_bytes(sum.bytes);
  }
  return text.empty() ? "" : " (" + text + ")";
}

} // namespace

std::string finding_text(const ReportedFinding& finding, unsigned stack_depth, const Page& page) {
  const std::string_view word = severity_word(finding.severity);
  std::string out = page.shown(word, severity_color(finding.severity));
  out.append(9 - word.size(), ' ');
  const std::string much = amount(finding);
  const std::string kind = printable(finding.kind);
  const std::string row = much.empty() ? kind : pad(kind, 22) + "  " + much;
  if (const bool fits = 9 + columns(row) <= page.width; fits) out += row + "\n";
  else out += wrap(kind + "  " + much, 9, 0, page.width - 9);
  if (!finding.message.empty()) out += wrap(printable(finding.message), 2, 2, page.width);
  if (!finding.range.empty()) {
    out +=
      wrap(cat({finding.count > 1 ? "first in range " : "in range ", printable(finding.range)}), 4,
           2, page.width);
  }
  if (!finding.shared.empty()) out += wrap(printable(finding.shared), 4, 2, page.width);
  out += stacks_text(finding, stack_depth, page);
  if (finding.held) out += held_text(*finding.held, page);
  if (!finding.advice.empty()) out += wrap(printable(finding.advice), 2, 2, page.width);
  return out;
}

namespace {

// How the program ended, if not well.
std::string end_of(const Report& report) {
  for (const Failure& failure : report.conclusion.failures) {
    if (failure.reason == Failure::Reason::kProgram || failure.reason == Failure::Reason::kRunTime)
      return "; " + failure.brief;
  }
  return {};
}

} // namespace

std::string summary(const Report& report) {
  using Reason = Failure::Reason;
  const Conclusion& conclusion = report.conclusion;
  if (const Failure* failure = conclusion.find(Reason::kUnchecked); failure != nullptr)
    return "SUMMARY: gpumemtrace: nothing was checked: " + printable(failure->brief) +
           end_of(report);
  if (report.no_cuda_calls && conclusion.find(Reason::kIncomplete) != nullptr)
    return "SUMMARY: gpumemtrace: nothing was checked" + end_of(report);
  if (report.no_cuda_calls)
    return "SUMMARY: gpumemtrace: no CUDA call was seen, nothing was checked" + end_of(report);
  const std::uint64_t errors = report.count(Severity::kError),
                      warnings = report.count(Severity::kWarning);
  const std::uint64_t notes = report.count(Severity::kNote);
  std::string line =
    "SUMMARY: gpumemtrace: " + (errors == 0 ? "no errors" : format_plural(errors, "error"));
  if (warnings != 0) line += ", " + format_plural(warnings, "warning");
  if (notes != 0) line += ", " + format_plural(notes, "note");
  line += kinds_in_brief(report);
  std::uint64_t lost = 0;
  for (const ProcessReport& process : report.processes) lost += process.lost_events();
  if (report.suppressed != 0)
    line += fmt::format("; {} suppressed", format_count(report.suppressed));
  if (report.in_baseline != 0)
    line += fmt::format("; {} in the baseline", format_count(report.in_baseline));
  if (lost != 0) line += fmt::format("; {} lost", format_plural(lost, "event"));
  if (const Failure* failure = conclusion.find(Reason::kIncomplete); failure != nullptr)
    line += "; " + failure->brief;
  if (const std::string launches =
        conclusion.launches ? launches_in_brief(*conclusion.launches) : std::string();
      !launches.empty())
    line += "; " + launches;
  return line + end_of(report);
}

} // namespace gmt::text
