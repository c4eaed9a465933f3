// SPDX-License-Identifier: Apache-2.0
// double-free: a release of memory that was released before and not allocated again. Whichever
// function frees, and unregister, unmap, close, release and destroy count as frees. The verdict is
// the heap's.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

class DoubleFree : public Detector {
public:
  explicit DoubleFree(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict> verdicts, const Heap&,
                Findings& findings) override {
    for (const Verdict& j : verdicts) {
      if (j.kind == Verdict::Kind::kDoubleFree) findings.add(finding(e, *j.block));
    }
  }

private:
  Finding finding(const Event& e, const Block& block) const {
    const std::string_view call = facts_.call_name(e);
    const event::Free& free = e.free();
    const std::string_view word = released_word(free.function);
    Finding f;
    f.kind = "double-free";
    f.message = {CallName{call},
                 " of ",
                 format_address(free.address),
                 ", which was already ",
                 released_word(block.memory_kind),
                 ": ",
                 describe_block(block, facts_)};
    f.advice = cat(
      {"Remove one of the two calls, or set every copy of the pointer to nullptr once the memory "
       "is ",
       word, "."});
    f.bytes = block.bytes;
    f.address = free.address;
    f.api = call;
    f.stacks.push_back(stack_as(release_role(free.function), e.stack, call, StackOrder::kAgain));
    const bool is_reallocated = block.end == Block::End::kReallocated; // its release went unseen
    if (!is_reallocated) {
      f.stacks.push_back(stack_as(release_role(block.memory_kind), block.freed,
                                  facts_.api_name(block.freed_api), StackOrder::kFirst));
    }
    f.stacks.push_back(allocation_stack(block, facts_));
    return f;
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kDoubleFree{{
  .id = "double-free",
  .severity = Severity::kError,
  .title = "memory freed twice",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DoubleFree>(facts);
  },
  .wants = kWantsMistakes,
}};

} // namespace
} // namespace gmt
