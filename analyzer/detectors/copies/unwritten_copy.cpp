// SPDX-License-Identifier: Apache-2.0
// uninitialized-read on the simulated device, which knows of each byte whether a copy, a set or a
// kernel wrote it, and says of each copy what it reads that nothing wrote, padding left out. To the
// host it is a warning, as a copy is no use yet; an error where no kernel can have run, as
// elsewhere; a note where it is the end of a block that was never filled so far. Between blocks of
// the device unwritten bytes may move along: a note, and only of a block that no kernel was given.
//
// Invariant: kMostKept copies are remembered, each until the device has spoken of it, which is
// before its call returns.

#include <map>
#include <optional>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/faults/memory_around.h"
#include "analyzer/detectors/shared/unwritten_read.h"

namespace gmt {
namespace {

class UnwrittenCopy : public Detector {
public:
  explicit UnwrittenCopy(const ProcessFacts& facts) : facts_(facts), kernels_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (e.kind == EventKind::kExecution) return on_execution(e, heap, findings);
    if (e.kind == EventKind::kCopy) remember(e, heap);
    kernels_.follow(e, heap);
  }

private:
  static constexpr std::size_t kMostKept = 1024;
  struct Copy {
    StackId stack;
    std::uint16_t api = trace::kNoApi, via = trace::kNoApi;
    std::optional<Writer> writer; // of a block that no recorded call gave to a kernel
  };

  void remember(const Event& e, const Heap& heap) {
    if (!e.succeeded()) return;
    Copy copy{.stack = e.stack, .api = e.api, .via = e.via, .writer = {}};
    for (const Access& access : heap.accesses()) {
      if (access.kind != Access::Kind::kRead || !is_unshared(*access.block, heap, facts_)) continue;
      copy.writer = writer_of(*access.block, e, heap, kernels_);
      break;
    }
    copies_.insert_or_assign(e.order & kOrderMask, copy);
    if (copies_.size() > kMostKept) copies_.erase(copies_.begin());
  }

  void on_execution(const Event& e, const Heap& heap, Findings& findings) {
    const event::Execution& view = e.execution();
    if (view.op != trace::ExecutionOp::kUnwrittenCopy) return;
    const Block* block = live_at(view.address(), {heap});
    if (block == nullptr || is_array(*block) || !is_private(*block, facts_)) return;
    if ((block->flags & kWasExported) != 0) return; // another process may have written it
    std::optional<Copy> copy = copy_of(view.call);
    if (!copy) return;
    const bool to_host = e.execution().is_to_host;
    if (!to_host && !copy->writer) return;
    const bool is_tail = view.form == trace::UnwrittenForm::kTail;
    UnwrittenRead read{.block = *block, .stack = copy->stack, .api = name_of(*copy)};
    read.bytes = view.bytes();
    read.missing = view.missing();
    read.which = is_tail ? " at its end" : "";
    if (to_host && copy->writer == Writer::kNone) {
      read.severity = Severity::kError;
      read.why = what_wrote_nothing(Writer::kNone);
    } else {
      read.severity = to_host && !is_tail ? Severity::kWarning : Severity::kNote;
      // A kernel that stores what it read of such memory writes no value.
      read.why = copy->writer ? "no copy, no set and no kernel"
                              : "no copy, no set and no kernel, unless with bytes that nothing "
                                "wrote either";
    }
    Finding f = unwritten_read(read, facts_);
    f.address = view.address();
    f.group = cat({std::to_string(static_cast<int>(read.severity)), is_tail ? " tail" : ""});
    if (is_tail && read.severity == Severity::kNote)
      f.advice = "Copy what was filled alone, or set the rest of the block before.";
    findings.add(std::move(f));
  }

  std::optional<Copy> copy_of(std::uint64_t order) const {
    if (const auto found = copies_.find(order); found != copies_.end()) return found->second;
    const LoggedLaunch* launch = order != 0 ? facts_.launches().find(order) : nullptr;
    if (launch == nullptr) return std::nullopt;
    return Copy{.stack = launch->stack, .api = launch->api, .via = trace::kNoApi, .writer = {}};
  }
  std::string name_of(const Copy& copy) const {
    return std::string(facts_.api_name(copy.via != trace::kNoApi ? copy.via : copy.api));
  }

  const ProcessFacts& facts_;
  RunningKernels kernels_;
  std::map<std::uint64_t, Copy> copies_; // by order, the newest
};

const DetectorRegistration kUnwrittenCopy{{
  .id = "uninitialized-read",
  .severity = Severity::kError,
  .title = "copy of device memory that nothing wrote",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    if (!facts.sees_unwritten_copies()) return nullptr;
    return std::make_unique<UnwrittenCopy>(facts);
  },
  .wants = RunningKernels::kWanted | wants(EventKind::kExecution),
  .is_another_way = true,
}};

} // namespace
} // namespace gmt
