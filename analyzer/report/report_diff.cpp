// SPDX-License-Identifier: Apache-2.0
// Comparison of two reports, see report_diff.h.
#include "analyzer/report/report_diff.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyzer/base/text_format.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/report/formats/tool_words.h"

namespace gmt {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " < ") + name;
  return text.empty() ? "(no call stack was recorded)" : text;
}

std::map<std::string, std::uint64_t> holders_of(const Report& report) {
  std::map<std::string, std::uint64_t> held;
  for (const ProcessReport& process : report.processes)
    for (const MemoryTables::Holder& holder : process.tables.holders)
      held[joined(identity_of(holder.stack))] += holder.bytes;
  return held;
}

std::uint64_t change_of(const HolderChange& change) {
  return std::max(change.before, change.after) - std::min(change.before, change.after);
}

std::vector<HolderChange> changed_holders(const Report& before, const Report& after) {
  std::map<std::string, HolderChange> all;
  for (const auto& [functions, bytes] : holders_of(before)) all[functions].before = bytes;
  for (const auto& [functions, bytes] : holders_of(after)) all[functions].after = bytes;
  std::vector<HolderChange> changes;
  for (auto& [functions, change] : all) {
    change.functions = functions;
    if (change_of(change) != 0) changes.push_back(change);
  }
  std::ranges::stable_sort(changes, std::ranges::greater{}, change_of);
  return changes;
}

std::string signed_bytes(std::uint64_t before, std::uint64_t after) {
  return after < before ? "-" + format_bytes(before - after) : "+" + format_bytes(after - before);
}

std::string percent(std::uint64_t before, std::uint64_t after) {
  if (before == 0 || before == after) return {};
  const double change =
    100 * (static_cast<double>(after) - static_cast<double>(before)) / static_cast<double>(before);
  return fmt::format(" ({:+.1f} %)", change);
}

void add_line(std::string& out, std::string_view state, Severity severity, const std::string& kind,
              const std::string& amount, const std::string& functions) {
  const std::string line = text::pad(state, 8) + text::pad(tools::severity_word(severity), 9) +
                           text::pad(kind, 24) + text::pad(amount, 24) + "  " + functions;
  out += text::printable(line) + "\n";
}

// "16.0 KiB in 4", "2 times"
std::string amount_text(std::uint64_t count, std::uint64_t bytes) {
  if (bytes == 0) return format_plural(count, "time");
  return format_bytes(bytes) + (count > 1 ? " in " + format_count(count) : "");
}

void add_findings_of(std::string& out, const ReportDiff& diff) {
  for (std::size_t i = 0; i < diff.changed.size(); ++i) {
    const ReportedFinding& finding = diff.changed[i];
    const bool has_grown = finding.baseline == BaselineState::kGrown;
    std::string amount = amount_text(finding.count, finding.bytes);
    if (has_grown)
      amount = amount_text(diff.before[i].count, diff.before[i].bytes) + " -> " + amount;
    add_line(out, has_grown ? "grown" : "new", finding.severity, finding.kind, amount,
             joined(identity_of(finding)));
  }
  for (const BaselineFinding& finding : diff.gone) {
    add_line(out, "gone", finding.severity, finding.kind, amount_text(finding.count, finding.bytes),
             finding.functions);
  }
}

void add_memory(std::string& out, const ReportDiff& diff) {
  const auto line = [&out](std::string_view what, std::uint64_t before, std::uint64_t after) {
    out += fmt::format("{}{} -> {}{}\n", text::pad(what, 26), format_bytes(before),
                       format_bytes(after), percent(before, after));
  };
  line("peak of device memory", diff.peak_before, diff.peak_after);
  line("live at end", diff.live_before, diff.live_after);
  if (diff.holders.empty()) return;
  out += "held at the peak by the largest call stacks of each\n";
  for (const HolderChange& holder : diff.holders) {
    out += text::printable(fmt::format(
             "  {:>12}   {} -> {}   {}", signed_bytes(holder.before, holder.after),
             format_bytes(holder.before), format_bytes(holder.after), holder.functions)) +
           "\n";
  }
}

void add_failures(std::string& out, std::string_view run, const std::vector<Failure>& failures) {
  for (const Failure& failure : failures)
    out += text::printable(cat({"the run ", run, ": ", failure.sentence})) + "\n";
}

std::vector<Failure> failures_of(const Report& report) {
  std::vector<Failure> failures;
  for (const Failure* failure : report.conclusion.beside_findings()) failures.push_back(*failure);
  return failures;
}

std::uint64_t count_of(const ReportDiff& diff, BaselineState state) {
  return static_cast<std::uint64_t>(
    std::ranges::count(diff.changed, state, &ReportedFinding::baseline));
}

} // namespace

bool ReportDiff::fails_anew() const {
  if (!knows_failures_before) return false;
  return std::ranges::any_of(failures_after, [this](const Failure& now) {
    return std::ranges::none_of(failures_before, [&now](const Failure& then) {
      // Others have counts in their sentences.
      return now.reason == then.reason &&
             (now.reason != Failure::Reason::kProgram || now.sentence == then.sentence);
    });
  });
}

bool ReportDiff::is_worse(Severity least, Tolerance tolerance) const {
  return fails_anew() || !tolerance.allows(peak_after, peak_before) ||
         !tolerance.allows(live_after, live_before) ||
         std::ranges::any_of(
           changed, [least](const ReportedFinding& finding) { return finding.severity >= least; });
}

ReportDiff diff_reports(const Report& before, Report after, Tolerance tolerance) {
  const Baseline first = baseline_of(before), second = baseline_of(after);
  ReportDiff diff;
  const BaselineMatch match = mark_states(first, tolerance, after);
  diff.gone = match.gone;
  diff.peak_before = first.peak_bytes;
  diff.peak_after = second.peak_bytes;
  diff.live_before = first.live_bytes;
  diff.live_after = second.live_bytes;
  diff.holders = changed_holders(before, after);
  diff.knows_failures_before = before.is_concluded;
  diff.failures_before = failures_of(before);
  diff.failures_after = failures_of(after);
  for (std::size_t i = 0; i < after.findings.size(); ++i) {
    ReportedFinding& finding = after.findings[i];
    if (finding.baseline == BaselineState::kKnown) {
      ++diff.unchanged;
      continue;
    }
    diff.before.push_back(match.before[i] == nullptr ? BaselineFinding{} : *match.before[i]);
    diff.changed.push_back(std::move(finding));
  }
  return diff;
}

std::string diff_text(const ReportDiff& diff) {
  std::string out;
  add_findings_of(out, diff);
  if (!out.empty()) out += "\n";
  add_memory(out, diff);
  add_failures(out, "before", diff.failures_before);
  add_failures(out, "after", diff.failures_after);
  return out +
         fmt::format("SUMMARY: gpumemtrace: findings: {} new, {} grown, {} gone, {} unchanged{}\n",
                     count_of(diff, BaselineState::kNew), count_of(diff, BaselineState::kGrown),
                     diff.gone.size(), diff.unchanged,
                     diff.fails_anew() ? "; the run after failed" : "");
}

} // namespace gmt
