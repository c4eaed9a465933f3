// SPDX-License-Identifier: Apache-2.0
// stream-order: stream-ordered memory that is used before its allocation is ordered there, or freed
// while its use on another stream is not ordered before the free; and cudaFree of such memory,
// which waits for no stream. What is ordered is StreamClock's answer. Asleep until the first
// stream-ordered allocation. One file, because uses and releases are checked on one clock.
//
// Never a guess: behind a call of which it is not known how it orders (trace/cuda_api.def, Unknown)
// nothing is found but listed as not checked. Of a kernel's arguments only those count that hold
// little besides pointers. One that may as well belong to the block beside it (its end, or an
// element before it) is a warning that says so, and nothing where another launch shows that the
// parameter is such an end. Findings wait for the end of the trace in OrderMistakes, also because
// one lost record may have ordered all of it.

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/order_mistakes.h"
#include "analyzer/detectors/shared/stream_clock.h"
#include "analyzer/detectors/shared/work_order.h"

namespace gmt {
namespace {

using trace::FreeFunction;
using Kind = EventKind;
using trace::MemoryKind;
using Point = StreamClock::Point;
using Use = StreamUse;
using Mistake = OrderMistake;

// Larger structures often hold words that their kernel never reads.
constexpr std::uint32_t kLargestParameter = 64;

bool is_tracked(MemoryKind memory_kind) {
  return memory_kind == MemoryKind::kStreamOrdered || memory_kind == MemoryKind::kPoolImport;
}

constexpr Wants kAsleep = WorkOrder::kAsleep | kWantsOddAllocations;
constexpr Wants kAwake = WorkOrder::kAwake | kWantsOddAllocations;

class StreamOrder : public Detector {
public:
  explicit StreamOrder(const ProcessFacts& facts)
      : facts_(facts), order_(facts, WorkOrder::PageableCopies::kDoneAtReturn) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    if (e.kind == Kind::kAlloc) return on_alloc(e, heap);
    if (order_.follow(e, heap, wants() == kAwake)) return;
    if (e.kind == Kind::kFree) return on_free(e, heap);
    if (const std::optional<Point> now = order_.start(e, heap)) on_work(e, *now, heap);
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    order_.report_unchecked("stream-order", findings);
    if (mistakes_.empty() || WorkOrder::report_losses("stream-order", end, findings)) return;
    mistakes_.report(heap, findings);
  }

private:
  struct Tracked {
    Point allocated_at;
    bool imported = false; // by another process, in its own order
    std::vector<Use> uses; // one a stream; what may be another's comes behind, for itself
  };
  void on_alloc(const Event& e, const Heap& heap) {
    if (heap.accesses().empty() || clock_.is_full()) return;
    const Block& block = *heap.accesses().front().block;
    if (!is_tracked(block.memory_kind)) return;
    watch(kAwake);
    Tracked& tracked = blocks_[block.address];
    tracked = {
      .allocated_at = {}, .imported = block.memory_kind == MemoryKind::kPoolImport, .uses = {}};
    if (!tracked.imported) tracked.allocated_at = clock_.work(e, block.stream, heap);
  }

  void on_work(const Event& e, Point now, const Heap& heap) {
    for (const Access& access : heap.accesses()) {
      if (is_tracked(access.block->memory_kind) && is_meant(e, access))
        use(used_by(e, now, access, heap), *access.block);
    }
    order_.end(e, now, heap);
  }

  // Of a launch's arguments, words of large structures are not.
  bool is_meant(const Event& e, const Access& access) const {
    if (access.kind != Access::Kind::kArgument) return true;
    const Kernel* kernel = facts_.kernel(e.launch().function);
    if (kernel == nullptr || access.parameter >= kernel->parameters.size()) return false;
    return kernel->parameters[access.parameter].bytes <= kLargestParameter;
  }

  Use used_by(const Event& e, Point now, const Access& access, const Heap& heap) const {
    Use use{now, e.stack, e.via != trace::kNoApi ? e.via : e.api};
    if (access.kind != Access::Kind::kArgument) return use;
    const Block& block = *access.block;
    const bool is_base = access.address == block.address;
    const Access* before = is_base ? heap.argument_ending_at(access.address) : nullptr;
    const std::uint64_t rest = block.address + block.bytes - access.address;
    const Block* behind =
      !is_base && rest <= Heap::kLargestElement ? heap.live_just_behind(access.address) : nullptr;
    if (before != nullptr) {
      use.other = {"the end of ", describe_block(*before->block, facts_),
                   ", into which another one points"};
    } else if (behind != nullptr && behind != &block) {
      use.other = {"a pointer that counts from 1 into ", describe_block(*behind, facts_)};
    } else {
      return use;
    }
    use.neighbour_parameter = access.parameter + 1u;
    use.function = e.launch().function;
    return use;
  }

  void use(const Use& newest, const Block& block) {
    const auto at = blocks_.find(block.address);
    if (at == blocks_.end()) return;
    Tracked& tracked = at->second;
    const auto known = std::ranges::find_if(tracked.uses, [&](const Use& use) {
      return use.work.stream == newest.work.stream &&
             (use.neighbour_parameter != 0) == (newest.neighbour_parameter != 0);
    });
    if (known != tracked.uses.end()) {
      *known = newest;
      return;
    }
    tracked.uses.insert(newest.neighbour_parameter != 0 ? tracked.uses.end() : tracked.uses.begin(),
                        newest);
    if (!tracked.imported && !clock_.is_ordered(tracked.allocated_at, newest.work)) {
      found(Mistake::kUsedEarly, newest, tracked, newest, block);
    }
  }

  void on_free(const Event& e, const Heap& heap) {
    const FreeFunction function = e.free().function;
    const auto accesses = heap.accesses();
    const Block* block = accesses.empty() ? nullptr : accesses.front().block;
    if (block != nullptr && is_tracked(block->memory_kind)) {
      const auto at = blocks_.find(block->address);
      if (at == blocks_.end()) return;
      if (function == FreeFunction::kMemFreeAsync) free_in_order(e, *block, at->second, heap);
      if (function == FreeFunction::kMemFree) free_at_once(e, *block, at->second);
      blocks_.erase(at);
      return;
    }
    order_.on_release(e);
  }

  void free_in_order(const Event& e, const Block& block, const Tracked& tracked, const Heap& heap) {
    const std::uint64_t stream = e.free().stream;
    if (heap.is_capturing(e, stream)) return;
    const Use freed{clock_.work(e, stream, heap), e.stack, e.via != trace::kNoApi ? e.via : e.api};
    if (clock_.is_full()) return;
    for (const Use& use : tracked.uses) {
      if (clock_.is_ordered(use.work, freed.work)) continue;
      return found(Mistake::kFreedInUse, freed, tracked, use, block);
    }
    if (!tracked.imported && !clock_.is_ordered(tracked.allocated_at, freed.work)) {
      found(Mistake::kFreedEarly, freed, tracked, freed, block);
    }
  }

  void free_at_once(const Event& e, const Block& block, const Tracked& tracked) {
    const Use freed{{}, e.stack, e.via != trace::kNoApi ? e.via : e.api};
    for (const Use& use : tracked.uses) {
      if (clock_.is_done(use.work)) continue;
      return found(Mistake::kFreedWithoutWait, freed, tracked, use, block);
    }
  }

  void found(Mistake mistake, const Use& call, const Tracked& tracked, const Use& use,
             const Block& block) {
    const Point& earlier = is_before_allocation(mistake) ? tracked.allocated_at : use.work;
    if (order_.is_certain_since(earlier.order))
      return mistakes_.add({mistake, call, tracked.allocated_at, use, block});
  }

  const ProcessFacts& facts_;
  WorkOrder order_;
  StreamClock& clock_ = order_.clock();
  OrderMistakes mistakes_{facts_, clock_};
  std::unordered_map<std::uint64_t, Tracked> blocks_; // alive, by address
};

const DetectorRegistration kStreamOrder{{
  .id = "stream-order",
  .severity = Severity::kError,
  .title = "stream-ordered memory used before its allocation or freed before its last use",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<StreamOrder>(facts);
  },
  .wants = kAsleep,
}};

} // namespace
} // namespace gmt
