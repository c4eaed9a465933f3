// SPDX-License-Identifier: Apache-2.0
// growth: memory that each step of the program leaves behind, until the device is full: tensors by
// the line that makes them, and device memory by its call stack. A step is what Steps finds.
//
// Looked at is what one call stack's blocks hold at each of its allocations, which is the same
// point of each step. It must rise all the time behind the warm-up and to the end of the program's
// work, in bytes and in blocks (LiveSeries): a cache that fills, batches of any size and an
// evaluation now and then do not. Setting up is no growth: device memory outside of a tensor
// library counts only where the program does other work over and over meanwhile. What libraries
// that are known keep for themselves is theirs. Memory that PyTorch has pinned is a block for each
// buffer, and counts as tensors do. Where its cache grows and its tensors do not, that is a finding
// of its own (CacheGrowth).

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/base/path.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/cache_growth.h"
#include "analyzer/detectors/shared/growth_words.h"
#include "analyzer/detectors/shared/steps.h"
#include "analyzer/heap/memory_use.h"
#include "analyzer/trace_reader/folded_calls.h"
#include "trace/other_names.h"

namespace gmt {
namespace {

using Kind = EventKind;

constexpr std::uint64_t kFewestOfDevice = 200; // allocations from one call stack, tensors apart
constexpr std::uint64_t kShareOfPeak = 1000;   // of the peak: less is not worth a word
constexpr std::uint64_t kSmallestGrowth = 64 << 10; // bytes

class Growth : public Detector {
public:
  explicit Growth(const ProcessFacts& facts)
      : facts_(facts), words_(facts), steps_(facts), cache_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    switch (e.kind) {
    case Kind::kTensor: return on_tensor(e, heap);
    case Kind::kRange: return steps_.on_range(e, facts_.ranges());
    case Kind::kSync:
      if (e.sync().op != trace::SyncOp::kGraphLaunch) return;
      [[fallthrough]];
    case Kind::kLaunch: has_launches_ = true; [[fallthrough]];
    case Kind::kSet: ++work_; break;
    case Kind::kNote: return on_note(e);
    case Kind::kAlloc:
      on_alloc(heap);
      if (!tensors_.empty()) return; // a segment for many tensors is no step
      break;
    case Kind::kFree: return on_free(heap);
    default: break;
    }
    if (e.succeeded() && !e.is_nested && !e.from_runtime) steps_.on_call(e);
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    const Steps::Found steps = steps_.find();
    if (steps.count == 0) return;
    const TensorUse& tensors = heap.use().tensors();
    const std::uint64_t peak = tensors.any() ? tensors.peak_bytes() : heap.peak_device_bytes();
    Grown grown;
    for (const auto& [stack, site] : tensors_) {
      if (has_other_work(site)) grown.add(StackId{stack}, site, rise_of(site, 0), What::kTensor);
    }
    for (const auto& [stack, site] : pinned_) {
      if (has_other_work(site) && is_pinned_by_torch(StackId{stack}))
        grown.add(StackId{stack}, site, rise_of(site, 0), What::kPinned);
    }
    for (const auto& [stack, site] : blocks_) {
      if (!has_launches_ && !has_churn_) break;
      if (!has_other_work(site)) continue;
      const std::optional<LiveSeries::Rise> rise = rise_of(site, kFewestOfDevice);
      if (!rise || !is_users_own(StackId{stack})) continue;
      grown.add(StackId{stack}, site, rise, What::kBlock);
    }
    grown.finish(steps.orders);
    const std::optional<CacheGrowth::Found> cache = growing_cache(grown, steps, heap);
    const PolicyRule* rule = broken_rule(grown.bytes_per_step);
    const bool do_sites_grow =
      !grown.sites.empty() &&
      (rule != nullptr || grown.whole >= std::max(kSmallestGrowth, peak / kShareOfPeak));
    if (!do_sites_grow && !cache) return;
    if (end.lost_records != 0) {
      findings.not_checked(
        {"growth", "records were lost, and among them may be those of releases"});
      return;
    }
    if (!do_sites_grow) rule = broken_rule(cache->rise.bytes * steps.orders);
    Finding f =
      do_sites_grow ? words_.of(grown, cache, steps, heap) : words_.of_cache(*cache, steps, heap);
    if (rule != nullptr) findings.add(breach_of(*rule, f));
    findings.add(std::move(f));
  }

private:
  using Site = GrowingSite;
  using What = Grown::What;
  // Those of the call stacks that allocate.
  class Sites {
    using All = std::deque<std::pair<std::uint32_t, Site>>; // with their StackIds

  public:
    Site& at(StackId stack) {
      if (stack.value >= numbers_.size()) numbers_.resize(stack.value + std::size_t{1});
      std::uint32_t& number = numbers_[stack.value];
      if (number == 0) {
        all_.emplace_back(stack.value, Site{});
        number = static_cast<std::uint32_t>(all_.size());
      }
      return all_[number - 1].second;
    }
    Site* find(StackId stack) {
      if (stack.value >= numbers_.size() || numbers_[stack.value] == 0) return nullptr;
      return &all_[numbers_[stack.value] - 1].second;
    }
    bool empty() const { return all_.empty(); }
    All::const_iterator begin() const { return all_.begin(); }
    All::const_iterator end() const { return all_.end(); }

  private:
    std::vector<std::uint32_t> numbers_; // by StackId, from 1: in all_; 0 is none
    All all_;
  };

  // Calls that are not in the trace were work, too. This and what follows is for few events, and is
  // not inlined: each event would pay for the registers that it needs.
  [[gnu::noinline]] void on_note(const Event& e) {
    if (facts_.api_name(e.api) != trace::kOtherName_unrecordedCalls) return;
    const event::Note& note = e.note();
    const FoldedCalls calls = FoldedCalls::of(note.first, note.second, note.third, note.fourth);
    work_ += calls.records - calls.others;
    has_launches_ |= calls.launches != 0;
  }

  [[gnu::noinline]] void on_tensor(const Event& e, const Heap& heap) {
    const event::Tensor& tensor = e.tensor();
    if (tensor.op == trace::TensorOp::kGivenOut) {
      const Block* block = heap.find_tensor(tensor.address);
      if (block == nullptr) return;
      allocated(tensors_, *block, heap);
      alive_[tensor.address] = {e.stack.value, tensor.bytes};
      steps_.on_call(e);
    } else if (tensor.op == trace::TensorOp::kTakenBack) {
      const auto at = alive_.find(tensor.address);
      if (at == alive_.end()) return;
      tensors_.at(StackId{at->second.stack}).series.on_freed(at->second.bytes);
      alive_.erase(at);
    }
  }

  [[gnu::noinline]] void on_alloc(const Heap& heap) {
    for (const Access& access : heap.accesses()) {
      if (access.kind != Access::Kind::kAllocated) continue;
      const Block& block = *access.block;
      if (is_device_memory(block)) {
        allocated(blocks_, block, heap);
        if (!tensors_.empty()) cache_.on_allocated(block, heap.device_of(block));
      } else if (is_host_kind(block.memory_kind) && !tensors_.empty()) {
        allocated(pinned_, block, heap);
      }
    }
  }

  [[gnu::noinline]] void on_free(const Heap& heap) {
    for (const Access& access : heap.accesses()) {
      if (access.kind != Access::Kind::kEnded) continue;
      if (!pinned_.empty() && is_host_kind(access.block->memory_kind)) on_unpinned(*access.block);
      if (!is_device_memory(*access.block)) continue;
      cache_.on_freed(*access.block);
      Site* site = blocks_.find(access.block->allocated);
      if (site == nullptr) continue;
      LiveSeries& series = site->series;
      series.on_freed(access.block->bytes);
      has_churn_ |= series.blocks() == 0 && series.allocations() >= kFewestOfDevice;
    }
  }

  void on_unpinned(const Block& block) {
    Site* site = pinned_.find(block.allocated);
    const bool is_known = site != nullptr && site->series.blocks() != 0;
    if (is_known) site->series.on_freed(block.bytes); // else from before the first tensor
  }

  static void allocated(Sites& sites, const Block& block, const Heap& heap) {
    Site& site = sites.at(block.allocated);
    site.series.on_allocated(block.bytes, block.allocated_at);
    site.api = block.api;
    site.device = heap.device_of(block);
  }

  // With no more than their own filling between them they are made to be used later.
  bool has_other_work(const LiveSeries& series) const { return work_ >= 2 * series.allocations(); }
  bool has_other_work(const Site& site) const { return has_other_work(site.series); }

  // No library's that is known. Segments of PyTorch's cache are counted by CacheGrowth.
  bool is_users_own(StackId stack) const {
    const Caller caller = facts_.caller(stack);
    return caller.owner.empty() &&
           (tensors_.empty() || !CacheGrowth::is_module_of_cache(caller.module));
  }

  // Its cache takes a block from CUDA for each buffer for which it has none that is free.
  bool is_pinned_by_torch(StackId stack) const {
    return base_name(facts_.caller(stack).module).starts_with("libtorch_cuda");
  }

  // That goes on to the end of the program's work, and did not begin late.
  std::optional<LiveSeries::Rise> rise_of(const Site& site, std::uint64_t fewest) const {
    const LiveSeries& series = site.series;
    const std::uint64_t last = steps_.last_order();
    if (series.allocations() < fewest || series.last_order() < last - last / 8 ||
        series.first_order() > last / 2)
      return std::nullopt;
    return series.rise();
  }

  const PolicyRule* broken_rule(double bytes_per_step) const {
    for (const PolicyRule& rule : facts_.policies()) {
      if (rule.kind == PolicyRule::Kind::kMaxGrowthPerStep &&
          bytes_per_step > static_cast<double>(rule.limit))
        return &rule;
    }
    return nullptr;
  }

  // If it grows by much more than what its tensors do.
  std::optional<CacheGrowth::Found> growing_cache(const Grown& grown, const Steps::Found& steps,
                                                  const Heap& heap) const {
    if (tensors_.empty() || !has_other_work(cache_.series())) return std::nullopt;
    auto found = cache_.find(steps_.last_order(), heap.use().tensors().peak_bytes());
    if (found && 2 * grown.bytes_per_step > found->rise.bytes * steps.orders) found.reset();
    return found;
  }

  struct Alive {
    std::uint32_t stack;
    std::uint64_t bytes;
  };

  const ProcessFacts& facts_;
  const GrowthWords words_;
  Steps steps_;
  Sites tensors_, blocks_, pinned_;
  CacheGrowth cache_;
  std::unordered_map<std::uint64_t, Alive> alive_; // tensors, by address
  std::uint64_t work_ = 0;                         // launches and sets
  bool has_launches_ = false, has_churn_ = false;
};

const DetectorRegistration kGrowth{{
  .id = "growth",
  .severity = Severity::kWarning,
  .title = "memory that each step of the program leaves behind",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<Growth>(facts);
  },
  .wants = kWantsTensors | wants(Kind::kAlloc) | wants(Kind::kFree) | wants(Kind::kLaunch) |
           wants(Kind::kCopy) | wants(Kind::kSet) | wants(Kind::kSync) | wants(Kind::kRange) |
           wants(Kind::kNote),
  .measure = Measure::kBlocks,
}};

} // namespace
} // namespace gmt
