// SPDX-License-Identifier: Apache-2.0
// host-race: the host uses memory that work of the device uses at the same time. With --late the
// simulated device runs asynchronous copies later than their calls, as a GPU may. It says where
// bytes that a copy uses are others than at the call, and only the host can have written them:
// nothing had let the host know by then that the copy was done.
//
// Invariant: kMostKept copies are remembered. With --late fewer wait at a time.

#include <map>
#include <optional>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/heap/memory_kinds.h"

namespace gmt {
namespace {

class HostRace : public Detector {
public:
  explicit HostRace(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (e.kind == EventKind::kCopy) return remember(e);
    if (e.execution().op == trace::ExecutionOp::kSourceNotKept) ++not_kept_;
    if (e.execution().op == trace::ExecutionOp::kHostWrote) on_write(e, heap, findings);
  }

  void finish(const EndOfTrace&, const Heap&, Findings& findings) override {
    if (not_kept_ == 0) return;
    findings.not_checked(
      {"host-race", cat({"--late keeps up to 256 MiB of what copies use: of ",
                         format_count(not_kept_), not_kept_ == 1 ? " copy" : " copies",
                         " more it is not known whether the host wrote there before"})});
  }

private:
  static constexpr std::size_t kMostKept = 8192;
  struct Copy {
    StackId stack;
    std::uint16_t api = trace::kNoApi;
    std::uint64_t source = 0, source_end = 0;
    bool reads(std::uint64_t address) const { return address >= source && address < source_end; }
  };

  void remember(const Event& e) {
    if (!e.succeeded() || !e.copy().is_async) return;
    const Rows source = rows_of(e, Verdict::Side::kSource);
    const std::uint64_t last_row = source.count() == 0 ? 0 : (source.count() - 1) * source.pitch;
    copies_.insert_or_assign(e.order & kOrderMask,
                             Copy{e.stack, e.via != trace::kNoApi ? e.via : e.api, source.address,
                                  source.address + last_row + source.width});
    if (copies_.size() > kMostKept) copies_.erase(copies_.begin());
  }

  void on_write(const Event& e, const Heap& heap, Findings& findings) const {
    const event::Execution& said = e.execution();
    const auto copy = copies_.find(said.call);
    const Block* block = heap.find_live(said.address());
    if (copy == copies_.end() || block == nullptr) return;
    const std::string_view name = facts_.api_name(copy->second.api);
    const bool runtime = is_runtime_name(name);
    Finding f;
    f.kind = "host-race";
    f.severity = Severity::kError;
    f.api = name;
    f.address = said.address();
    f.bytes = said.missing();
    f.message = {"The host changed ",
                 format_bytes(said.missing()),
                 " of ",
                 describe_block(*block, facts_),
                 " after ",
                 CallName{name},
                 " had been called to copy ",
                 copy->second.reads(said.address()) ? "from there" : "to there",
                 ", and before that was done"};
    f.advice = {"Let the host wait with ",
                ApiWord{runtime, "cuStreamSynchronize", "cudaStreamSynchronize"}, " or ",
                ApiWord{runtime, "cuEventSynchronize", "cudaEventSynchronize"},
                " before it writes there again, or give each copy a buffer of its own."};
    f.stacks.push_back(stack_as(StackRole::kCopied, copy->second.stack, name));
    f.stacks.push_back(allocation_stack(*block, facts_));
    findings.add(std::move(f));
  }

  const ProcessFacts& facts_;
  std::map<std::uint64_t, Copy> copies_; // by order, the newest
  std::uint64_t not_kept_ = 0;
};

const DetectorRegistration kHostRace{{
  .id = "host-race",
  .severity = Severity::kError,
  .title = "the host uses memory while work of the device uses it",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    if (!facts.simulated()) return nullptr;
    return std::make_unique<HostRace>(facts);
  },
  .wants = wants(EventKind::kCopy) | wants(EventKind::kExecution),
}};

} // namespace
} // namespace gmt
