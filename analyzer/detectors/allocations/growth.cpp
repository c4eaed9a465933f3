// SPDX-License-Identifier: Apache-2.0
// growth: memory that each step of the program leaves behind, until the device is full: tensors by
// the line that makes them, and device memory by its call stack. A step is what Steps finds.
//
// Looked at is what one call stack's blocks hold at each of its allocations, which is the same
// point of each step. It must rise all the time behind the warm-up and to the end of the program's
// work, in bytes and in blocks (LiveSeries): a cache that fills, batches of any size and an
// evaluation now and then do not. Setting up is no growth: device memory outside of a tensor
// library counts only where the program does other work over and over meanwhile. What libraries
// that are known keep for themselves is theirs.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/live_series.h"
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
constexpr std::size_t kMostStacks = 5;

class Growth : public Detector {
public:
  explicit Growth(const ProcessFacts& facts) : facts_(facts), steps_(facts) {}

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
      if (has_other_work(site)) grown.add(stack, site, rise_of(site, 0), true);
    }
    for (const auto& [stack, site] : blocks_) {
      if (!has_launches_ && !has_churn_) break;
      if (!has_other_work(site)) continue;
      const std::optional<LiveSeries::Rise> rise = rise_of(site, kFewestOfDevice);
      if (!rise || !facts_.caller(StackId{stack}).owner.empty()) continue;
      grown.add(stack, site, rise, false);
    }
    if (grown.sites.empty()) return;
    grown.finish(steps.orders);
    const PolicyRule* const rule = broken_rule(grown.bytes_per_step);
    if (rule == nullptr && grown.whole < std::max(kSmallestGrowth, peak / kShareOfPeak)) return;
    if (end.lost_records != 0) {
      findings.not_checked(
        {"growth", "records were lost, and among them may be those of releases"});
      return;
    }
    findings.add(finding(grown, steps, heap));
    if (rule != nullptr) findings.add(breach(*rule, grown, steps, heap));
  }

private:
  struct Site {
    LiveSeries series;
    std::uint16_t api = trace::kNoApi;
    int device = -1;
  };
  using Sites = std::unordered_map<std::uint32_t, Site>; // by StackId

  struct GrownSite {
    std::uint32_t stack;
    const Site* site;
    bool is_tensor;
    double bytes_per_step, blocks_per_step; // at first for one order
  };
  struct Grown {
    std::vector<GrownSite> sites;
    double bytes_per_step = 0;

    void add(std::uint32_t stack, const Site& site, const std::optional<LiveSeries::Rise>& rise,
             bool is_tensor) {
      if (rise) sites.push_back({stack, &site, is_tensor, rise->bytes, rise->blocks});
    }
    std::uint64_t whole = 0; // what they held last
    void finish(double orders_per_step) {
      for (GrownSite& s : sites) {
        s.bytes_per_step *= orders_per_step;
        s.blocks_per_step *= orders_per_step;
        bytes_per_step += s.bytes_per_step;
        whole += s.site->series.bytes_then();
      }
      std::ranges::sort(sites, [](const GrownSite& a, const GrownSite& b) {
        return a.bytes_per_step != b.bytes_per_step ? a.bytes_per_step > b.bytes_per_step
                                                    : a.stack < b.stack;
      });
    }
  };

  // Calls that are not in the trace were work, too.
  void on_note(const Event& e) {
    if (facts_.api_name(e.api) != trace::kOtherName_unrecordedCalls) return;
    const event::Note& note = e.note();
    const FoldedCalls calls = FoldedCalls::of(note.first, note.second, note.third, note.fourth);
    work_ += calls.records - calls.others;
    has_launches_ |= calls.launches != 0;
  }

  void on_tensor(const Event& e, const Heap& heap) {
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
      tensors_[at->second.stack].series.on_freed(at->second.bytes);
      alive_.erase(at);
    }
  }

  void on_alloc(const Heap& heap) {
    for (const Access& access : heap.accesses()) {
      if (access.kind == Access::Kind::kAllocated && is_device_memory(*access.block))
        allocated(blocks_, *access.block, heap);
    }
  }

  void on_free(const Heap& heap) {
    for (const Access& access : heap.accesses()) {
      if (access.kind != Access::Kind::kEnded || !is_device_memory(*access.block)) continue;
      const auto site = blocks_.find(access.block->allocated.value);
      if (site == blocks_.end()) continue;
      site->second.series.on_freed(access.block->bytes);
      has_churn_ |=
        site->second.series.allocations() >= kFewestOfDevice && site->second.series.blocks() == 0;
    }
  }

  static void allocated(Sites& sites, const Block& block, const Heap& heap) {
    Site& site = sites[block.allocated.value];
    site.series.on_allocated(block.bytes, block.allocated_at);
    site.api = block.api;
    site.device = heap.device_of(block);
  }

  // With no more than their own filling between them they are made to be used later.
  bool has_other_work(const Site& site) const { return work_ >= 2 * site.series.allocations(); }

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

  static std::string a_step(double bytes) {
    return format_bytes(static_cast<std::uint64_t>(std::max(bytes + 0.5, 1.0)));
  }

  // "; at this rate the 79.2 GiB of device 0 are full at step 1,234"
  std::string when_full(const Grown& grown, const Steps::Found& steps, const Heap& heap) const {
    const int device = grown.sites.front().site->device;
    const DeviceFacts* facts = facts_.device(device);
    if (facts == nullptr || facts->bytes <= heap.peak_device_bytes()) return {};
    const double left = static_cast<double>(facts->bytes - heap.peak_device_bytes());
    const double step = static_cast<double>(steps.count) + left / grown.bytes_per_step;
    constexpr double kFarthestStep = 1e8;
    if (step > kFarthestStep) return {};
    return cat({"; at this rate device ", std::to_string(device), ", which has ",
                format_bytes(facts->bytes), ", is full at about step ",
                format_count(static_cast<std::uint64_t>(step))});
  }

  Text message(const Grown& grown, const Steps::Found& steps, const Heap& heap) const {
    const GrownSite& first = grown.sites.front();
    const std::string of = steps.of.empty() ? std::string() : cat({" (", steps.of, ")"});
    Text where = first.is_tensor
                   ? Text{"tensors made ", TensorSite{}}
                   : Text{"blocks allocated by ", CallName{facts_.api_name(first.site->api)}};
    std::size_t others = grown.sites.size() - 1;
    if (first.is_tensor && others != 0 && grown.sites[1].is_tensor) {
      --others;
      where += Text{others == 0 ? " and " : ", ", TensorSite{}};
    }
    if (others != 0) where += cat({" and ", format_plural(others, "other call stack")});
    return {"Each of ",
            format_count(steps.count),
            " steps",
            of,
            " leaves ",
            a_step(grown.bytes_per_step),
            " behind, ",
            format_bytes(grown.whole),
            " in all: ",
            where,
            when_full(grown, steps, heap)};
  }

  void add_stacks(Finding& f, const Grown& grown, std::uint64_t steps) const {
    for (std::size_t i = 0; i < std::min(grown.sites.size(), kMostStacks); ++i) {
      const GrownSite& s = grown.sites[i];
      f.stacks.push_back(stack_as(StackRole::kAllocated, StackId{s.stack},
                                  s.is_tensor ? std::string_view() : facts_.api_name(s.site->api)));
      if (grown.sites.size() == 1) continue;
      const double all = static_cast<double>(steps);
      f.stacks.back().amount = {static_cast<std::uint64_t>(s.bytes_per_step * all),
                                static_cast<std::uint64_t>(s.blocks_per_step * all + 0.5)};
    }
  }

  Finding finding(const Grown& grown, const Steps::Found& steps, const Heap& heap) const {
    Finding f;
    f.kind = "growth";
    f.severity = Severity::kWarning;
    f.message = message(grown, steps, heap);
    f.advice =
      grown.sites.front().is_tensor
        ? "Look for what keeps them from step to step: a list or dict that they are added to, "
          "a hook, a closure, a loss that is kept with its graph (keep loss.item() or "
          "loss.detach() instead)."
        : "Free them in the step that allocates them, or use them again.";
    f.bytes = grown.whole;
    f.count = 0;
    for (const GrownSite& s : grown.sites)
      f.count +=
        static_cast<std::uint64_t>(s.blocks_per_step * static_cast<double>(steps.count) + 0.5);
    add_stacks(f, grown, steps.count);
    return f;
  }

  Finding breach(const PolicyRule& rule, const Grown& grown, const Steps::Found& steps,
                 const Heap& heap) const {
    Finding f = finding(grown, steps, heap);
    f.kind = "policy";
    f.severity = Severity::kError;
    f.message += cat({" (rule '", rule.text, "')"});
    f.group = rule.text;
    f.count = 1;
    return f;
  }

  struct Alive {
    std::uint32_t stack;
    std::uint64_t bytes;
  };

  const ProcessFacts& facts_;
  Steps steps_;
  Sites tensors_, blocks_;
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
