// SPDX-License-Identifier: Apache-2.0
// free-in-callback: a free inside a host callback (cudaLaunchHostFunc, cudaStreamAddCallback),
// where CUDA may not be called. It is refused with 800, and programs rarely look: the memory stays
// allocated. A runtime that is linked statically refuses by itself.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/runtime_linkage.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

class FreeInCallback : public Detector {
public:
  explicit FreeInCallback(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    runtime_.note(e);
    if (e.kind == EventKind::kSync) {
      has_callbacks_ |= e.sync().op == trace::SyncOp::kHostFunction;
    }
    if (e.kind != EventKind::kFree || e.result != cuda::CUDA_ERROR_NOT_PERMITTED) return;
    if (e.is_nested) return;
    const std::uint64_t address = e.free().address;
    const Block* block = heap.find_live(address);
    Finding f;
    f.kind = "free-in-callback";
    f.api = facts_.call_name(e);
    f.address = address;
    f.message = {CallName{f.api},
                 " was called inside a host callback, where CUDA refuses it with ",
                 error_text(e.result, is_runtime_name(f.api)),
                 ": ",
                 block != nullptr ? describe_block(*block, facts_) : format_address(address),
                 " stays allocated"};
    f.advice = "Free it outside, after the stream was synchronised.";
    // What cudaFreeAsync takes (measured on an H200, driver 580).
    const bool can_be_ordered =
      block != nullptr && (block->memory_kind == trace::MemoryKind::kDevice ||
                           block->memory_kind == trace::MemoryKind::kPitched ||
                           block->memory_kind == trace::MemoryKind::kStreamOrdered);
    if (can_be_ordered) {
      f.advice =
        "Free it outside: after the stream was synchronised, or with cudaFreeAsync on that "
        "stream in place of the callback.";
    }
    f.stacks.push_back(stack_as(StackRole::kFreed, e.stack, f.api));
    if (block != nullptr) {
      f.bytes = block->bytes;
      f.stacks.push_back(allocation_stack(*block, facts_));
    }
    findings.add(std::move(f));
    findings.claim_refusal();
  }

  void finish(const EndOfTrace&, const Heap&, Findings& findings) override {
    if (!has_callbacks_ || !runtime_.is_static()) return;
    findings.not_checked(
      {"free-in-callback",
       "with a statically linked CUDA runtime, a free in a host callback is refused inside the "
       "runtime, where it cannot be seen: build with -cudart shared to have it checked"});
  }

private:
  const ProcessFacts& facts_;
  RuntimeLinkage runtime_;
  bool has_callbacks_ = false;
};

const DetectorRegistration kFreeInCallback{{
  .id = "free-in-callback",
  .severity = Severity::kError,
  .title = "free inside a host callback, which CUDA refuses",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<FreeInCallback>(facts);
  },
  .wants = kWantsFailures | wants(EventKind::kSync) | wants(EventKind::kLife),
}};

} // namespace
} // namespace gmt
