// SPDX-License-Identifier: Apache-2.0
// Comparison of a report with the findings of an earlier one, see baseline.h.
#include "analyzer/report/baseline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/base/text_format.h"
#include "analyzer/report/fingerprint.h"

namespace gmt {
namespace {

constexpr std::size_t kMostNamed = 10; // of what is gone

std::string functions_of(const ReportedFinding& finding) {
  std::string text;
  for (const std::string& name : identity_of(finding)) text += (text.empty() ? "" : " < ") + name;
  return text;
}

BaselineState state_of(const ReportedFinding& now, const BaselineFinding* before,
                       Tolerance tolerance) {
  if (before == nullptr) return BaselineState::kNew;
  const bool is_within = tolerance.allows(now.count, before->count) &&
                         tolerance.allows(now.bytes, before->bytes) &&
                         now.severity <= before->severity;
  return is_within ? BaselineState::kKnown : BaselineState::kGrown;
}

void note_gone(const std::vector<BaselineFinding>& gone, Report& report) {
  if (gone.empty()) return;
  std::string text = format_plural(gone.size(), "finding") + " of the baseline " +
                     (gone.size() == 1 ? "is" : "are") + " not in this report: ";
  for (std::size_t i = 0; i < gone.size() && i < kMostNamed; ++i) {
    text += (i == 0 ? "" : ", ") + gone[i].kind;
    if (!gone[i].functions.empty()) text += " in " + gone[i].functions;
  }
  if (gone.size() > kMostNamed) text += ", and " + format_plural(gone.size() - kMostNamed, "other");
  report.remarks.push_back(text + "; --update-baseline takes them out of the file");
}

// The process with the highest peak, nullptr if there is none.
const ProcessReport* process_of_peak(const Report& report) {
  const auto at = std::ranges::max_element(
    report.processes, {}, [](const ProcessReport& p) { return p.totals.peak_bytes; });
  return at == report.processes.end() ? nullptr : &*at;
}

std::uint64_t live_bytes(const Report& report) {
  std::uint64_t sum = 0;
  for (const ProcessReport& process : report.processes) sum += process.totals.live_bytes;
  return sum;
}

ReportedFinding broken_rule(const std::string& rule, std::string_view what, std::uint64_t now,
                            std::uint64_t before) {
  ReportedFinding finding;
  finding.kind = "policy";
  finding.bytes = now - before;
  finding.message = cat({what, " is ", format_bytes(now), ", and the baseline has ",
                         format_bytes(before), ": that breaks the rule '", rule, "'."});
  finding.advice = "See who holds the memory; if it is meant to grow, run once with "
                   "--update-baseline.";
  finding.baseline = BaselineState::kNew;
  return finding;
}

void add_holders(const ProcessReport& process, ReportedFinding& finding) {
  constexpr std::size_t kMost = 3;
  for (const MemoryTables::Holder& holder : process.tables.holders) {
    if (finding.stacks.size() == kMost) return;
    LabelledStack stack;
    static_cast<CallStack&>(stack) = holder.stack;
    stack.label =
      stack_label(StackRole::kHeld, StackOrder::kOnly, MemoryAmount{holder.bytes, holder.blocks});
    finding.stacks.push_back(std::move(stack));
  }
}

// Finds to each finding the one of the baseline, each of which stands for one.
class Pairs {
public:
  explicit Pairs(const Baseline& baseline) : baseline_(baseline) {
    for (const BaselineFinding& finding : baseline.findings) {
      equal_.try_emplace(finding.fingerprint, &finding);
      const std::string& functions =
        has_source_line(finding.fingerprint) ? finding.function_fingerprint : finding.fingerprint;
      alike_.try_emplace(functions, &finding);
    }
  }

  const BaselineFinding* take_equal(const ReportedFinding& finding) {
    return take(equal_, finding.fingerprint);
  }

  // By functions, if one of the two has no more.
  const BaselineFinding* take_alike(const ReportedFinding& finding) {
    const auto at = alike_.find(finding.function_fingerprint);
    const bool both_have_lines = at != alike_.end() && has_source_line(finding.fingerprint) &&
                                 has_source_line(at->second->fingerprint);
    return both_have_lines ? nullptr : take(alike_, finding.function_fingerprint);
  }

  std::vector<BaselineFinding> left() const {
    std::vector<BaselineFinding> list;
    for (const BaselineFinding& finding : baseline_.findings) {
      const auto at = equal_.find(finding.fingerprint);
      const bool is_first = at != equal_.end() && at->second == &finding;
      if (is_first && !taken_.contains(&finding)) list.push_back(finding);
    }
    return list;
  }

private:
  using Index = std::map<std::string_view, const BaselineFinding*>;

  const BaselineFinding* take(const Index& index, const std::string& fingerprint) {
    const auto at = index.find(fingerprint);
    return at != index.end() && taken_.insert(at->second).second ? at->second : nullptr;
  }

  const Baseline& baseline_;
  Index equal_, alike_;
  std::set<const BaselineFinding*> taken_;
};

} // namespace

Baseline baseline_of(const Report& report) {
  Baseline baseline;
  if (const ProcessReport* process = process_of_peak(report))
    baseline.peak_bytes = process->totals.peak_bytes;
  baseline.live_bytes = live_bytes(report);
  for (const ReportedFinding& finding : report.findings) {
    baseline.findings.push_back({finding.kind, finding.fingerprint, finding.severity, finding.count,
                                 finding.bytes, functions_of(finding),
                                 finding.function_fingerprint});
  }
  std::ranges::sort(baseline.findings, {}, [](const BaselineFinding& f) {
    return std::tie(f.kind, f.functions, f.fingerprint);
  });
  return baseline;
}

bool Tolerance::allows(std::uint64_t now, std::uint64_t before) const {
  if (now <= before) return true;
  const long double limit =
    static_cast<long double>(before) * (1 + static_cast<long double>(percent) / 100);
  return static_cast<long double>(now) <= limit;
}

BaselineMatch mark_states(const Baseline& baseline, Tolerance tolerance, Report& report) {
  Pairs pairs(baseline);
  BaselineMatch match;
  match.before.assign(report.findings.size(), nullptr);
  for (std::size_t i = 0; i < report.findings.size(); ++i)
    match.before[i] = pairs.take_equal(report.findings[i]);
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    ReportedFinding& finding = report.findings[i];
    if (match.before[i] == nullptr && (match.before[i] = pairs.take_alike(finding)) != nullptr)
      ++(has_source_line(finding.fingerprint) ? match.old_rule : match.no_source);
    finding.baseline = state_of(finding, match.before[i], tolerance);
  }
  match.gone = pairs.left();
  return match;
}

void compare_with(const Baseline& baseline, Tolerance tolerance, Report& report) {
  const BaselineMatch match = mark_states(baseline, tolerance, report);
  note_gone(match.gone, report);
  if (match.old_rule != 0)
    report.remarks.push_back(
      format_plural(match.old_rule, "finding") + " of the baseline " +
      (match.old_rule == 1 ? "has a fingerprint" : "have fingerprints") +
      " of rule 1, which knows functions alone: a new mistake may have taken the place of an old "
      "one; --update-baseline writes those of rule 2");
  if (match.no_source != 0)
    report.remarks.push_back(
      format_plural(match.no_source, "finding") + " " + (match.no_source == 1 ? "is" : "are") +
      " known by functions alone, since source lines could not be read here: a new mistake may have "
      "taken the place of an old one");
}

void check_growth(const Baseline& baseline, Tolerance tolerance, const std::string& rule,
                  Report& report) {
  std::vector<ReportedFinding> broken;
  const ProcessReport* process = process_of_peak(report);
  if (process == nullptr) return;
  const std::size_t index = static_cast<std::size_t>(process - report.processes.data());
  if (!tolerance.allows(process->totals.peak_bytes, baseline.peak_bytes)) {
    broken.push_back(broken_rule(rule, "the peak of device memory", process->totals.peak_bytes,
                                 baseline.peak_bytes));
    broken.back().range = process->totals.peak_range;
    add_holders(*process, broken.back());
  }
  const std::uint64_t live = live_bytes(report);
  if (!tolerance.allows(live, baseline.live_bytes))
    broken.push_back(
      broken_rule(rule, "memory that is alive at the end", live, baseline.live_bytes));
  for (ReportedFinding& finding : broken) {
    finding.process = index;
  }
  set_fingerprints(broken);
  report.findings.insert(report.findings.begin(), std::make_move_iterator(broken.begin()),
                         std::make_move_iterator(broken.end()));
}

} // namespace gmt
