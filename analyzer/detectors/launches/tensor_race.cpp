// SPDX-License-Identifier: Apache-2.0
// stream-race of tensors: PyTorch's allocator gives a tensor's memory out again as soon as the
// tensor is dropped, and counts on the order of the stream that it was allocated for. Work on
// another stream that still uses it must be ordered before: by record_stream, for which the
// allocator records an event and asks for it, or by wait_stream. Reported is memory that was given
// out again and used, where nothing orders the old use before the new one. Where it was not, there
// is nothing.
//
// A new tensor's first use is taken for a write, which is an inference, so it is a warning. Of
// launches only small parameters count: tables of addresses are full in part, and the rest is what
// their memory had before. Work of graphs is not known here, so tensors that were made in a capture
// are not followed.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/stream_clock.h"
#include "analyzer/detectors/shared/work_order.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

using Kind = EventKind;
using Point = StreamClock::Point;

constexpr Wants kFollowing = WorkOrder::kAwake | kWantsTensors;
constexpr std::uint32_t kMostOfParameter = 64; // bytes
constexpr std::size_t kMostDropped = 10'000;
constexpr std::size_t kMostRaces = 100;

class TensorRace : public Detector {
public:
  explicit TensorRace(const ProcessFacts& facts)
      : facts_(facts), order_(facts, WorkOrder::PageableCopies::kDoneAtReturn) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    if (e.kind == Kind::kTensor) return on_tensor(e, heap);
    if (is_new_stream(e)) watch(kFollowing);
    if (order_.follow(e, heap, is_awake())) return;
    if (e.kind == Kind::kFree) return on_free(e, heap);
    if (const std::optional<Point> now = order_.start(e, heap)) on_work(e, *now, heap);
  }

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    if (races_.empty() || WorkOrder::report_losses("stream-race", end, findings)) return;
    for (const Race& race : races_) findings.add(finding(race));
  }

private:
  struct Use {
    Point work;
    StackId stack;
    std::uint16_t api = trace::kNoApi;
  };
  // A tensor that work on another stream than its own was given.
  struct Lent {
    Block block; // as it was then
    std::vector<Use> uses;
  };
  struct Race {
    Block dropped, taken;
    Use earlier, later;
    std::string earlier_stream, later_stream;
  };

  static bool is_new_stream(const Event& e) {
    return e.kind == Kind::kLife && e.life().object == trace::ObjectClass::kStream &&
           e.life().op == trace::LifeOp::kCreate;
  }
  bool is_awake() const { return wants() == kFollowing; }
  // The default stream has two handles.
  static bool is_same_stream(std::uint64_t one, std::uint64_t other) {
    constexpr std::uint64_t kLegacy = 1; // CU_STREAM_LEGACY
    return one == other || (one <= kLegacy && other <= kLegacy);
  }
  bool is_followed(const Block& tensor) const {
    constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
    return tensor.stream != kUnknown && (captured_.empty() || !captured_.contains(tensor.address));
  }

  void on_tensor(const Event& e, const Heap& heap) {
    if (e.tensor().op == trace::TensorOp::kGivenOut) {
      if (heap.cuda().captures.any()) captured_.insert(e.tensor().address);
      else if (!captured_.empty()) captured_.erase(e.tensor().address);
    }
    if (e.tensor().op != trace::TensorOp::kTakenBack) return;
    const auto lent = lent_.find(e.tensor().address);
    if (lent == lent_.end()) return;
    if (dropped_.size() == kMostDropped) dropped_.erase(dropped_.begin());
    dropped_[lent->first] = std::move(lent->second);
    lent_.erase(lent);
  }

  void on_free(const Event& e, const Heap& heap) {
    const std::span<const Access> accesses = heap.accesses();
    const Block* block = accesses.empty() ? nullptr : accesses.front().block;
    if (block != nullptr && !dropped_.empty()) forget(block->address, block->bytes);
    if (e.free().function == trace::FreeFunction::kMemFreeAsync) {
      const std::uint64_t stream = e.free().stream;
      if (!heap.is_capturing(e, stream)) order_.clock().work(e, stream, heap);
    } else if (block == nullptr || block->memory_kind != trace::MemoryKind::kStreamOrdered) {
      order_.on_release(e);
    }
  }

  void on_work(const Event& e, Point now, const Heap& heap) {
    const std::uint64_t stream = stream_of_work(e).value_or(0);
    for (const Access& access : heap.tensor_accesses()) {
      if (!is_followed(*access.block) || !counts(e, access)) continue;
      const Use use{now, e.stack, e.via != trace::kNoApi ? e.via : e.api};
      if (!is_same_stream(stream, access.block->stream)) lend(*access.block, use);
      if (!dropped_.empty()) take(*access.block, use);
    }
    order_.end(e, now, heap);
  }

  bool counts(const Event& e, const Access& access) const {
    if (access.kind == Access::Kind::kRead || access.kind == Access::Kind::kWrite) return true;
    if (access.kind != Access::Kind::kArgument || e.kind != Kind::kLaunch) return false;
    const Kernel* kernel = facts_.kernel(e.launch().function);
    return kernel != nullptr && access.parameter < kernel->parameters.size() &&
           kernel->parameters[access.parameter].bytes <= kMostOfParameter;
  }

  // The newest use on each stream stands for those before it.
  void lend(const Block& tensor, const Use& use) {
    Lent& lent = lent_[tensor.address];
    if (lent.block.allocated_at != tensor.allocated_at) lent = {tensor, {}};
    std::erase_if(lent.uses, [&](const Use& u) { return u.work.stream == use.work.stream; });
    lent.uses.push_back(use);
  }

  // The first work that is given the memory as another tensor's.
  void take(const Block& tensor, const Use& use) {
    auto at = dropped_.upper_bound(tensor.address);
    if (at != dropped_.begin()) --at;
    while (at != dropped_.end() && at->first < tensor.address + tensor.bytes) {
      const Lent& lent = at->second;
      const bool meets = lent.block.address + lent.block.bytes > tensor.address;
      if (!meets || lent.block.allocated_at == tensor.allocated_at) {
        ++at;
        continue;
      }
      for (const Use& earlier : lent.uses) {
        if (earlier.work.stream != use.work.stream &&
            !order_.clock().is_ordered(earlier.work, use.work) &&
            order_.is_certain_since(earlier.work.order) && races_.size() < kMostRaces)
          races_.push_back({lent.block, tensor, earlier, use,
                            order_.clock().name(earlier.work.stream),
                            order_.clock().name(use.work.stream)});
      }
      at = dropped_.erase(at);
    }
  }

  void forget(std::uint64_t begin, std::uint64_t bytes) {
    const std::uint64_t end = std::max(begin, begin + bytes); // that of damaged records wraps
    dropped_.erase(dropped_.lower_bound(begin), dropped_.lower_bound(end));
  }

  Finding finding(const Race& race) const {
    Finding f;
    f.kind = "stream-race";
    f.severity = Severity::kWarning;
    f.bytes = race.dropped.bytes;
    f.address = race.dropped.address;
    f.api = facts_.api_name(race.later.api);
    f.message = {"The ",
                 format_bytes(race.dropped.bytes),
                 " block of a tensor made ",
                 TensorSite{},
                 " was used on ",
                 race.earlier_stream,
                 ", dropped, and given out again; the new tensor was used on ",
                 race.later_stream,
                 ", and nothing orders the two uses"};
    f.advice =
      "Call tensor.record_stream(stream) behind the use on the other stream, or let the stream that "
      "the tensor was made on wait for that one (wait_stream) before the tensor is dropped.";
    f.stacks.push_back(stack_as(StackRole::kUsed, race.later.stack, f.api, StackOrder::kAgain));
    f.stacks.push_back(stack_as(StackRole::kUsed, race.earlier.stack,
                                facts_.api_name(race.earlier.api), StackOrder::kFirst));
    f.stacks.push_back(allocation_stack(race.dropped, facts_));
    f.stacks.push_back(allocation_stack(race.taken, facts_));
    f.stacks.back().order = StackOrder::kAgain;
    return f;
  }

  const ProcessFacts& facts_;
  WorkOrder order_;
  std::unordered_map<std::uint64_t, Lent> lent_; // alive, by address
  std::map<std::uint64_t, Lent> dropped_;        // by address
  std::unordered_set<std::uint64_t> captured_;   // addresses of what captures allocated last
  std::vector<Race> races_;
};

const DetectorRegistration kTensorRace{{
  .id = "stream-race",
  .severity = Severity::kError,
  .title = "work on two streams uses the same memory, and nothing orders it",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<TensorRace>(facts);
  },
  .wants = WorkOrder::kAsleep,
  .is_another_way = true,
}};

} // namespace
} // namespace gmt
