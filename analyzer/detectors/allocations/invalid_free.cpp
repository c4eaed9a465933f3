// SPDX-License-Identifier: Apache-2.0
// invalid-free: a release of an address that is no allocation: inside one (says which and at what
// offset), ended with its context (names that end), or never allocated by CUDA; and one that CUDA
// refused where what lay there is not known. The verdict is the heap's.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/context_end.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/heap/lost_history.h"

namespace gmt {
namespace {

class InvalidFree : public Detector {
public:
  explicit InvalidFree(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict> verdicts, const Heap&,
                Findings& findings) override {
    for (const Verdict& j : verdicts) {
      const bool of_static =
        j.kind == Verdict::Kind::kMismatchedFree && is_static(j.block->memory_kind);
      if (!of_static && j.kind != Verdict::Kind::kInvalidFreeInside &&
          j.kind != Verdict::Kind::kInvalidFreeEnded &&
          j.kind != Verdict::Kind::kInvalidFreeUnknown) {
        continue;
      }
      Finding f;
      f.kind = "invalid-free";
      const event::Free& free = e.free();
      f.address = free.address;
      f.api = facts_.call_name(e);
      const bool host = free.function == trace::FreeFunction::kHostFree;
      f.stacks.push_back(
        stack_as(host ? StackRole::kHostMemoryFreed : StackRole::kFreed, e.stack, f.api));
      const Text what = {CallName{f.api}, " of ", format_address(free.address), ", which "};
      if (of_static) static_variable(f, what, *j.block);
      if (j.kind == Verdict::Kind::kInvalidFreeInside) inside(f, what, j);
      if (j.kind == Verdict::Kind::kInvalidFreeEnded) ended(f, what, j);
      if (j.kind == Verdict::Kind::kInvalidFreeUnknown) unknown(f, what, j);
      findings.add(std::move(f));
    }
  }

private:
  void static_variable(Finding& f, const Text& what, const Block& block) const {
    f.message = {what, "is ", describe_block(block, facts_),
                 ": no call allocated it and none can free it"};
    f.advice = "Do not free it: a static variable lives as long as its module.";
    f.group = "static";
    add_allocation(f, block);
  }

  void inside(Finding& f, const Text& what, const Verdict& j) const {
    const Block& block = *j.block;
    f.message = {what,
                 "is ",
                 format_exact_bytes(j.offset),
                 " inside a block that begins at ",
                 format_address(block.address),
                 ": ",
                 describe_block(block, facts_)};
    f.advice = {"Pass the address that ",
                CallName{facts_.api_name(block.api)},
                " gave (",
                format_address(block.address),
                ") to ",
                right_release_for(block, f.api),
                "."};
    f.group = "inside";
    add_allocation(f, block);
  }

  void ended(Finding& f, const Text& what, const Verdict& j) const {
    const Block& block = *j.block;
    const std::string_view end_api = facts_.api_name(block.freed_api);
    const bool is_of_pool = block.memory_kind == trace::MemoryKind::kSubAllocation;
    f.message = {what,
                 "ended with its ",
                 is_of_pool ? "pool" : "context",
                 ": ",
                 CallName{end_api},
                 " had already released ",
                 describe_block(block, facts_)};
    f.advice = {"Free memory before ", CallName{end_api}, ", or not at all after it",
                note_on_context_end(end_api), "."};
    f.group = "ended";
    f.stacks.push_back(stack_as(is_of_pool ? StackRole::kPoolEnded : StackRole::kContextEnded,
                                block.freed, end_api));
    add_allocation(f, block);
  }

  void unknown(Finding& f, const Text& what, const Verdict& j) const {
    f.group = "unknown";
    if (has_lost_history(j)) {
      f.message = {what, "CUDA refused: what lay there is not known, as records of allocations or "
                         "releases were lost before"};
      f.advice = {
        "Look where else ", CallName{f.api},
        " is called with this pointer, or record less, so that none is lost: \"not checked\" "
        "has the reason."};
      f.group = "lost";
      return;
    }
    if (j.block == nullptr) {
      f.message = {what, "no CUDA call of this program allocated"};
      f.advice = {
        "Check where the pointer comes from: memory of malloc, of the stack, of a kernel's own malloc "
        "and static variables cannot be freed with ",
        CallName{f.api}, "."};
      return;
    }
    const Block& block = *j.block;
    f.message = {what, "is not allocated: it lies ", format_exact_bytes(j.offset),
                 " inside memory that was freed earlier, ", describe_block(block, facts_)};
    f.advice = "Check where the pointer comes from: it points into freed memory.";
    f.stacks.push_back(stack_as(release_role(block.memory_kind), block.freed,
                                facts_.api_name(block.freed_api), StackOrder::kFirst));
    add_allocation(f, block);
  }

  void add_allocation(Finding& f, const Block& block) const {
    f.bytes = block.bytes;
    f.stacks.push_back(allocation_stack(block, facts_));
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kInvalidFree{{
  .id = "invalid-free",
  .severity = Severity::kError,
  .title = "free of something that is no allocation",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<InvalidFree>(facts);
  },
  .wants = kWantsMistakes,
}};

} // namespace
} // namespace gmt
