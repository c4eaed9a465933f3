// SPDX-License-Identifier: Apache-2.0
// The key of a finding is a string of all that must be equal. Roles of stacks are not part of it,
// but how many stacks there are is.

#include "analyzer/analysis/grouping.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/text_format.h"

namespace gmt {

std::string Grouping::key_of(const Finding& finding) const {
  std::string key;
  for (const std::string* part : {&finding.kind, &finding.api, &finding.group}) {
    key += *part;
    key += '\0';
  }
  std::vector<std::string> stacks;
  bool either_came_first = false; // two threads of a kernel met: which one was first is chance
  for (const FindingStack& stack : finding.stacks) {
    std::string& of = stacks.emplace_back(std::to_string(stack.stack.value));
    of += stack.api; // without a stack only the calls' names differ
    of += '\0';
    if (!stack.device) continue;
    either_came_first |= stack.order == StackOrder::kFirst;
    of += stack.device->kernel; // a helper function has one call site for all
    for (const Frame& frame : stack.frames)
      of += cat({frame.function, frame.file, std::to_string(frame.line)});
  }
  if (either_came_first) std::ranges::sort(stacks);
  for (const std::string& stack : stacks) key += stack;
  if (by_range_) key += finding.range;
  return key;
}

void Grouping::add(Finding finding) {
  if (!at_end_) {
    if (finding.range.empty()) finding.range = ranges_.text(ranges_.here());
    finding.moment = {time_, thread_};
  }
  std::string key = key_of(finding);
  const auto at = by_key_.find(key);
  if (at == by_key_.end()) {
    if (!has_room(finding.kind)) return;
    by_key_.emplace(std::move(key), findings_.size());
    findings_.push_back(std::move(finding));
    return;
  }
  Finding& first = findings_[at->second];
  first.count += finding.count;
  first.bytes += finding.bytes;
  first.severity = std::max(first.severity, finding.severity);
}

bool Grouping::has_room(const std::string& kind) {
  OfKind& of = of_kinds_[kind];
  if (findings_.size() >= kMostFindings && of.kept >= kFewestOfAKind) {
    ++of.left_out;
    return false;
  }
  ++of.kept;
  return true;
}

void Grouping::report_left_out() {
  for (const auto& [kind, of] : of_kinds_) {
    if (of.left_out == 0) continue;
    not_checked({kind, cat({std::to_string(of.left_out), " more of them, at other places, ",
                            of.left_out == 1 ? "is" : "are", " not listed: a report has ",
                            std::to_string(kMostFindings), " findings of a process"})});
  }
}

void Grouping::not_checked(NotChecked what) {
  if (not_checked_.size() == kMostNotChecked) return;
  const bool known = std::ranges::any_of(
    not_checked_, [&](const NotChecked& n) { return n.what == what.what && n.why == what.why; });
  if (!known) not_checked_.push_back(std::move(what));
}

} // namespace gmt
