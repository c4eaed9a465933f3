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
#include "analyzer/detectors/shared/orderings.h"
#include "analyzer/detectors/shared/stream_clock.h"

namespace gmt {
namespace {

using trace::FreeFunction;
using Kind = EventKind;
using trace::MemoryKind;
using trace::Ordering;
using Point = StreamClock::Point;
using Use = StreamUse;
using Mistake = OrderMistake;

// Larger structures often hold words that their kernel never reads.
constexpr std::uint32_t kLargestParameter = 64;

bool is_tracked(MemoryKind memory_kind) {
  return memory_kind == MemoryKind::kStreamOrdered || memory_kind == MemoryKind::kPoolImport;
}

// The stream that a call's work goes to; none if it makes no work.
std::optional<std::uint64_t> stream_of(const Event& e) {
  switch (e.kind) {
  case Kind::kLaunch:
  case Kind::kCopy:
  case Kind::kSet: return named_stream(e);
  case Kind::kUse:
    switch (e.use().use) {
    case trace::UseClass::kPrefetch:
    case trace::UseClass::kDiscard:
      if (named_stream(e) == 0) return {}; // older traces do not say it
      return named_stream(e);
    case trace::UseClass::kMemOp:
    case trace::UseClass::kMemOpWait: return named_stream(e);
    default: return {};
    }
  default: return {};
  }
}

constexpr Wants kAsleep = wants(Kind::kAlloc) | wants(Kind::kLife) | wants(Kind::kSync) |
                          wants(Kind::kUse) | wants(Kind::kGraphChange) | wants(Kind::kThread);
constexpr Wants kAwake = kAsleep | wants(Kind::kFree) | wants(Kind::kCopy) | wants(Kind::kSet) |
                         wants(Kind::kLaunch) | wants(Kind::kNote);

class StreamOrder : public Detector {
public:
  explicit StreamOrder(const ProcessFacts& facts) : facts_(facts), orderings_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    switch (e.kind) {
    case Kind::kLife: clock_.on_life(e); break;
    case Kind::kSync: clock_.on_capture(e, heap); break;
    case Kind::kUse: clock_.on_graph_use(e, heap); break;
    case Kind::kGraphChange: return clock_.on_graph_change(e);
    case Kind::kThread: return clock_.on_thread(e);
    case Kind::kAlloc: return on_alloc(e, heap);
    default: break;
    }
    if (wants() != kAwake || !e.succeeded() || clock_.is_full()) return;
    if (e.kind == Kind::kLife || e.kind == Kind::kNote) return on_other(e);
    switch (e.kind) {
    case Kind::kSync:
      if (e.sync().op > trace::SyncOp::kExternalSignal) last_unknown_ = {e.order, e.api};
      return clock_.on_sync(e, heap);
    case Kind::kFree: return on_free(e, heap);
    case Kind::kUse: clock_.on_use(e, heap); break;
    default: break;
    }
    const auto stream = stream_of(e);
    if (e.is_nested || e.from_runtime) return;
    if (stream) return on_work(e, *stream, heap);
    // Uses that are not checked order the stream all the same.
    const bool of_stream = e.kind == Kind::kUse && orderings_.of(e) == Ordering::kStream;
    if (of_stream && !heap.is_capturing(e, named_stream(e))) clock_.work(e, named_stream(e), heap);
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    if (clock_.is_full()) {
      findings.not_checked(
        {"stream-order", cat({"the program had more than ", format_count(StreamClock::kMaxStreams),
                              " streams at a time: later calls were not checked"})});
    }
    if (unsure_ != 0) {
      findings.not_checked(
        {"stream-order", cat({facts_.api_name(unsure_because_of_),
                              " was called, and how it orders work is not known: ",
                              format_plural(unsure_, "use"), " behind it may be ordered or not"})});
    }
    if (mistakes_.empty()) return;
    if (end.lost_records != 0) {
      findings.not_checked(
        {"stream-order", "records were lost, and any of them may have ordered the streams"});
      return;
    }
    mistakes_.report(heap, findings);
  }

  // Events that name no stream: objects that come and go, and calls whose words are not read.
  void on_other(const Event& e) {
    if (e.is_nested || e.from_runtime) return;
    switch (orderings_.of(e)) {
    case Ordering::kContext: return clock_.host_waits(e);
    case Ordering::kUnknown:
      last_unknown_ = {e.order, e.via != trace::kNoApi ? e.via : e.api};
      break;
    default: break;
    }
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

  void on_work(const Event& e, std::uint64_t stream, const Heap& heap) {
    if (heap.is_capturing(e, stream)) return; // it will run when its graph is launched
    const Point now = clock_.work(e, stream, heap);
    if (clock_.is_full()) return;
    for (const Access& access : heap.accesses()) {
      if (is_tracked(access.block->memory_kind) && is_meant(e, access))
        use(used_by(e, now, access, heap), *access.block);
    }
    if (e.kind == Kind::kCopy && copy_waits(e, heap)) clock_.host_waits(now);
    if (e.kind == Kind::kCopy && is_peer_copy(e)) clock_.host_waits(e);
    const bool device_set = !heap.accesses().empty() && uses_only_device(heap);
    if (e.kind == Kind::kSet && !e.set().is_async && !device_set) clock_.host_waits(now);
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
    // Other releases may wait for the device (CUDA programming guide on implicit synchronisation).
    if (function != FreeFunction::kMemFreeAsync && function != FreeFunction::kHostFree &&
        function != FreeFunction::kGraphFreeNode && function != FreeFunction::kRegionUnregister) {
      clock_.host_waits(e);
    }
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

  // Whether the host knows that the copy is done when its call has returned, or may know it.
  bool copy_waits(const Event& e, const Heap& heap) const {
    const bool async = e.copy().is_async;
    bool to_known = false;
    for (const Access& access : heap.accesses()) to_known |= access.kind == Access::Kind::kWrite;
    if (!async) return !(to_known && heap.accesses().size() == 2 && uses_only_device(heap));
    return !to_known; // to pageable host memory
  }

  static bool uses_only_device(const Heap& heap) {
    for (const Access& access : heap.accesses()) {
      const MemoryKind memory_kind = access.block->memory_kind;
      const bool device = is_device_kind(memory_kind) || memory_kind == MemoryKind::kPoolImport ||
                          memory_kind == MemoryKind::kVmmMapping || memory_kind == MemoryKind::kIpc;
      if (!device || memory_kind == MemoryKind::kManaged) return false;
    }
    return true;
  }

  // It is in order with all work of both contexts (cuda.h on cuMemcpyPeer).
  bool is_peer_copy(const Event& e) const {
    return !e.copy().is_async && facts_.api_name(e.api).find("Peer") != std::string_view::npos;
  }

  void found(Mistake mistake, const Use& call, const Tracked& tracked, const Use& use,
             const Block& block) {
    const Point& earlier = is_before_allocation(mistake) ? tracked.allocated_at : use.work;
    if (last_unknown_.order <= earlier.order)
      return mistakes_.add({mistake, call, tracked.allocated_at, use, block});
    ++unsure_; // it may be what orders the two
    unsure_because_of_ = last_unknown_.api;
  }

  const ProcessFacts& facts_;
  Orderings orderings_;
  StreamClock clock_;
  OrderMistakes mistakes_{facts_, clock_};
  struct {
    std::uint64_t order = 0;
    std::uint16_t api = trace::kNoApi;
  } last_unknown_; // call of which it is not known how it orders
  std::uint64_t unsure_ = 0;
  std::uint16_t unsure_because_of_ = trace::kNoApi;
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
