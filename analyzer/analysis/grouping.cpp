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
  const auto [at, is_new] = by_key_.try_emplace(key_of(finding), findings_.size());
  if (is_new) {
    findings_.push_back(std::move(finding));
    return;
  }
  Finding& first = findings_[at->second];
  first.count += finding.count;
  first.bytes += finding.bytes;
  first.severity = std::max(first.severity, finding.severity);
}

void Grouping::not_checked(NotChecked what) {
  const bool known = std::ranges::any_of(
    not_checked_, [&](const NotChecked& n) { return n.what == what.what && n.why == what.why; });
  if (!known) not_checked_.push_back(std::move(what));
}

} // namespace gmt
