// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/refused_calls.h"

#include <utility>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "trace/cuda_results.h"
#include "trace/kernel_faults.h"

namespace gmt {
namespace {

constexpr std::uint16_t kNotSupported = 801; // of both APIs

// "pools of the host's memory", or the function as a whole.
std::string what_is_missing(const std::string& what) {
  return what.empty() ? std::string("it") : what;
}

} // namespace

void RefusedCalls::note(const Event& execution) {
  const event::Execution& view = execution.execution();
  if (static_cast<trace::ExecutionOp>(view.op) != trace::ExecutionOp::kRefused) return;
  const std::string_view function = facts_.text(view.function());
  if (function.empty()) return;
  Refusal& refusal = refused_[std::string(function)];
  if (refusal.calls == 0) refusal.what = facts_.text(view.reason);
  refusal.calls += view.calls();
}

bool RefusedCalls::may_be(const Event& e) const {
  return facts_.simulated() && e.result == kNotSupported;
}

void RefusedCalls::hold(const Event& e, Finding finding) {
  held_.hold(e, 0, std::move(finding), {facts_.api_name(e.api), facts_.call_name(e)});
}

RefusedCalls::Refusal* RefusedCalls::refusal_of(const Names& names) {
  for (const std::string_view name : {names.recorded, names.called}) {
    // Of a thread's own default stream the call has a suffix
    const auto found = refused_.find(name.substr(0, name.find("_pt")));
    if (found != refused_.end()) return &found->second;
  }
  return nullptr;
}

void RefusedCalls::finish(Findings& findings) {
  held_.release([&](Finding& finding, const Names& names) {
    if (Refusal* refusal = refusal_of(names); refusal != nullptr) {
      refusal->has_finding = true;
      finding.severity = Severity::kNote;
      finding.message +=
        cat({", as the simulated device does not implement ", what_is_missing(refusal->what)});
      finding.advice =
        "The call may be right: run the program on a GPU to check it, and what depends on it.";
    }
    findings.add(std::move(finding));
  });
  for (const auto& [function, refusal] : refused_) {
    if (refusal.has_finding) continue;
    const bool is_runtime = is_runtime_name(function);
    findings.not_checked(
      {function, cat({"the simulated device does not implement ", what_is_missing(refusal.what),
                      " and refused ", format_plural(refusal.calls, "call"), " with ",
                      error_name(kNotSupported, is_runtime),
                      ": what the program would have done with it was not seen"})});
  }
}

} // namespace gmt
