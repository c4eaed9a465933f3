// SPDX-License-Identifier: Apache-2.0
// mismatched-free: a release by the wrong function (cudaFree of pinned memory, cudaFreeHost of
// device memory, free() of pinned memory, ...). Names the right one. The verdict is the heap's.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

class MismatchedFree : public Detector {
public:
  explicit MismatchedFree(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict> verdicts, const Heap&,
                Findings& findings) override {
    for (const Verdict& j : verdicts) {
      if (j.kind != Verdict::Kind::kMismatchedFree) continue;
      if (is_static(j.block->memory_kind)) continue; // no function frees it: invalid-free
      const bool host = e.free().function == trace::FreeFunction::kHostFree;
      findings.add(finding(e, *j.block, host));
    }
  }

private:
  Finding finding(const Event& e, const Block& block, bool host) const {
    const std::string_view call = facts_.call_name(e);
    const ApiWord release = right_release_for(block, host ? facts_.api_name(block.api) : call);
    const std::uint64_t address = e.free().address;
    Finding f;
    f.kind = "mismatched-free";
    f.message = {CallName{call},
                 " of ",
                 format_address(address),
                 ", which is ",
                 describe_block(block, facts_),
                 host ? "" : ": the call failed and the memory stays allocated"};
    f.advice = {"Free it with ", release, "."};
    f.bytes = block.bytes;
    f.address = address;
    f.api = call;
    f.group = memory_noun(block.memory_kind);
    f.stacks.push_back(
      stack_as(host ? StackRole::kHostMemoryFreed : StackRole::kFreed, e.stack, call));
    f.stacks.push_back(allocation_stack(block, facts_));
    return f;
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kMismatchedFree{{
  .id = "mismatched-free",
  .severity = Severity::kError,
  .title = "memory freed by the wrong function",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<MismatchedFree>(facts);
  },
  .wants = kWantsMistakes,
}};

} // namespace
} // namespace gmt
