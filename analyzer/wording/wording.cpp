// SPDX-License-Identifier: Apache-2.0
#include "analyzer/wording/wording.h"

#include <algorithm>
#include <utility>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"

namespace gmt {
namespace {

std::string_view spelled(const Text& text, const Text::Mark& mark, const CallNames& names) {
  if (mark.site != Text::Site::kNone)
    return std::string_view(text.recorded()).substr(mark.begin, mark.size);
  const std::string_view recorded = std::string_view(text.recorded()).substr(mark.begin, mark.size);
  if (mark.runtime.empty()) return names.of(recorded);
  return names.is_runtime ? std::string_view(mark.runtime) : recorded;
}

// "libfoo.so+0x1234"; empty if no frame is known.
std::string allocation_site(const Finding& finding) {
  for (const FindingStack& stack : finding.stacks) {
    if (stack.role != StackRole::kAllocated || stack.frames.empty()) continue;
    const Frame& frame = stack.frames.front();
    const std::string_view path = frame.module;
    if (!path.empty())
      return cat(
        {path.substr(path.find_last_of('/') + 1), "+", format_address(frame.module_offset)});
  }
  return {};
}

// Of a sentence's tensor of this number; empty where it is not known.
std::string tensor_site(const CallNames& names, std::size_t number) {
  if (number >= names.tensor_sites.size()) return {};
  const std::string& site = names.tensor_sites[number];
  const auto before = names.tensor_sites.begin() + static_cast<std::ptrdiff_t>(number);
  const bool is_named =
    !site.empty() && std::find(names.tensor_sites.begin(), before, site) != before;
  return is_named ? "by other calls in that line" : site;
}

std::string spelled(const Text& text, const CallNames& names, const std::string& site = {}) {
  const std::string_view recorded = text.recorded();
  std::string words;
  std::size_t at = 0, tensors = 0;
  for (const Text::Mark& mark : text.marks()) {
    words += recorded.substr(at, mark.begin - at);
    std::string call_site;
    if (mark.site == Text::Site::kTensor) call_site = tensor_site(names, tensors++);
    else if (mark.site == Text::Site::kAllocation) call_site = site;
    words += !call_site.empty() ? std::string_view(call_site) : spelled(text, mark, names);
    at = mark.begin + mark.size;
  }
  words += recorded.substr(at);
  return words;
}

bool names_call(const Text& text, std::string_view call, const CallNames& names) {
  return std::ranges::any_of(text.marks(), [&](const Text::Mark& mark) {
    return mark.runtime.empty() && mark.site == Text::Site::kNone &&
           spelled(text, mark, names) == call;
  });
}

LabelledStack labelled(FindingStack stack, const Text& message, const CallNames& names) {
  LabelledStack result;
  result.label = stack_label(stack.role, stack.order, stack.amount);
  const bool is_in_label = stack.api == "free"; // "freed here"
  result.shows_call = !stack.api.empty() && !is_in_label && !names_call(message, stack.api, names);
  static_cast<CallStack&>(result) = std::move(stack);
  return result;
}

void excuse(ReportedFinding& finding, const OwnerExcuse& excuse, const Owner& owner) {
  if (excuse.clause != nullptr) finding.owner_clause = cat({"; ", excuse.clause(owner)});
  if (excuse.advice != nullptr) finding.advice = excuse.advice(owner);
}

} // namespace

ReportedFinding in_words(Finding finding, const CallNames& names) {
  ReportedFinding result;
  const DetectorInfo* kind = detector_of(finding.kind);
  if (kind != nullptr) result.measure = kind->measure;
  result.advice = spelled(finding.advice, names, allocation_site(finding));
  if (kind != nullptr && !finding.owner.name.empty())
    excuse(result, kind->owner_excuse, finding.owner);
  result.message = spelled(finding.message, names);
  if (!result.message.empty()) result.message += cat({result.owner_clause, "."});
  for (FindingStack& stack : finding.stacks) {
    result.stacks.push_back(labelled(std::move(stack), finding.message, names));
  }
  result.owner = std::move(finding.owner.name);
  static_cast<FindingFacts&>(result) = std::move(finding);
  return result;
}

} // namespace gmt
