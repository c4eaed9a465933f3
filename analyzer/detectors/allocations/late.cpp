// SPDX-License-Identifier: Apache-2.0
// late: a call that CUDA refused because the driver or the runtime was being unloaded (code 4). Of
// a release the memory goes with the process, so this is a note; the heap calls it neither freed
// nor leaked. Other work at that time is a thread's that was not joined, which may crash inside
// CUDA: a warning. What destroys objects is neither: libraries do it at their end.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

class Late : public Detector {
public:
  explicit Late(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (e.result != cuda::CUDA_ERROR_DEINITIALIZED) return;
    if (makes_work(e.kind)) {
      findings.claim_refusal();
      return findings.add(of_work(e));
    }
    if (e.kind != EventKind::kFree || heap.accesses().empty()) return;
    const Block& block = *heap.accesses().front().block;
    const std::string_view call = facts_.call_name(e);
    Finding f;
    f.kind = "late";
    f.severity = Severity::kNote;
    f.message = {CallName{call},
                 " came too late for ",
                 describe_block(block, facts_),
                 ": CUDA was already being unloaded (",
                 error_text(e.result, e.from_runtime),
                 ")"};
    f.advice = {"Call ", right_release_for(block, call),
                " before main returns, for example by destroying the object "
                "that holds the memory there instead of with the static objects."};
    f.bytes = block.bytes;
    f.address = block.address;
    f.api = call;
    f.stacks.push_back(
      stack_as(release_role(block.memory_kind), e.stack, call, StackOrder::kTooLate));
    f.stacks.push_back(allocation_stack(block, facts_));
    findings.add(std::move(f));
  }

private:
  static bool makes_work(EventKind kind) {
    return kind == EventKind::kAlloc || kind == EventKind::kLaunch || kind == EventKind::kCopy ||
           kind == EventKind::kSet;
  }

  Finding of_work(const Event& e) const {
    const std::string_view call = facts_.call_name(e);
    Finding f;
    f.kind = "late";
    f.severity = Severity::kWarning;
    f.message = {CallName{call}, " came too late: CUDA was already being unloaded (",
                 error_text(e.result, e.from_runtime), ")"};
    f.advice =
      "Join the threads that use CUDA before main returns: what they call while the program "
      "ends is refused, and may crash inside CUDA.";
    f.api = call;
    f.group = "work";
    f.stacks.push_back(stack_as(StackRole::kFailed, e.stack, call));
    return f;
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kLate{{
  .id = "late",
  .severity = Severity::kNote,
  .title = "CUDA called after it began to unload",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<Late>(facts);
  },
  .wants = kWantsFailures,
}};

} // namespace
} // namespace gmt
