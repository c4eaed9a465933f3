// SPDX-License-Identifier: Apache-2.0
// free-in-callback: a free inside a host callback (cudaLaunchHostFunc, cudaStreamAddCallback), where CUDA may
// not be called. It is refused with 800, and programs rarely look: the memory stays allocated.

#include "analyzer/detector.h"
#include "analyzer/words.h"

namespace gmt {
namespace {

constexpr std::uint16_t kNotPermitted = 800; // cudaErrorNotPermitted, CUDA_ERROR_NOT_PERMITTED

class FreeInCallback : public Detector {
public:
  explicit FreeInCallback(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Judgement>, const Heap& heap, Findings& findings) override {
    if (e.kind != trace::Kind::kFree || e.result != kNotPermitted) return;
    if ((e.flags & trace::kFlagNested) != 0) return;
    const Block* block = heap.find_live(e.p(0));
    Finding f;
    f.kind = "free-in-callback";
    f.api = facts_.call_name(e);
    const std::string error = error_name(e.result, is_runtime_name(f.api));
    f.address = e.p(0);
    f.message =
      cat({f.api, " was called inside a host callback, where CUDA refuses it with ", error, ": ",
           block != nullptr ? describe_block(*block, facts_) : format_address(e.p(0)), " stays allocated."});
    f.advice =
      "Free it outside: after the stream was synchronised, or stream-ordered with cudaFreeAsync in place of "
      "the callback.";
    f.stacks.push_back(labelled("freed here", e.stack, f.api));
    if (block != nullptr) {
      f.bytes = block->bytes;
      f.stacks.push_back(birth_stack(*block, facts_));
    }
    findings.add(std::move(f));
    findings.explain_refusal();
  }

private:
  const ProcessFacts& facts_;
};

const DetectorRegistration kFreeInCallback{{
  .id = "free-in-callback",
  .severity = Severity::kError,
  .title = "free inside a host callback, which CUDA refuses",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<FreeInCallback>(facts);
  },
  .wants = kWantsFailures,
}};

} // namespace
} // namespace gmt
