// SPDX-License-Identifier: Apache-2.0
// out-of-memory: an allocation that failed for want of memory: what was asked for, who held what at that
// moment, and the largest piece that had been freed. Equal failures (same stack) are one finding; the first
// is the example.

#include <algorithm>
#include <unordered_map>

#include "analyzer/detector.h"
#include "analyzer/words.h"

namespace gmt {
namespace {

constexpr std::uint16_t kOutOfMemory = 2;
constexpr std::size_t kHolders = 5;

class OutOfMemory : public Detector {
public:
  explicit OutOfMemory(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Judgement>, const Heap& heap, Findings&) override {
    if (e.kind != trace::Kind::kAlloc || e.result != kOutOfMemory || (e.flags & trace::kFlagNested) != 0)
      return;
    const std::uint16_t api = e.via != trace::kNoApi ? e.via : e.api;
    const std::uint64_t key = std::uint64_t{e.stack.value} << 16 | api;
    const auto [at, is_new] = by_call_.try_emplace(key, failures_.size());
    if (is_new) {
      failures_.push_back(finding(e, heap));
    } else {
      ++failures_[at->second].count;
      failures_[at->second].bytes += e.p(1);
    }
  }

  void finish(const Heap&, Findings& findings) override {
    for (Finding& f : failures_) {
      if (f.count > 1) {
        f.message.pop_back();
        f.message += cat({" (the first of ", format_plural(f.count, "such failure"), ")."});
      }
      findings.add(std::move(f));
    }
  }

private:
  struct Holder {
    StackId stack;
    std::uint16_t api = 0;
    std::uint64_t bytes = 0, blocks = 0;
  };

  static bool is_host(trace::Family family) {
    return family == trace::Family::kPinned || family == trace::Family::kRegistered;
  }

  Finding finding(const Event& e, const Heap& heap) const {
    const auto family = static_cast<trace::Family>(e.p(2));
    const bool host = is_host(family);
    const std::string_view call = facts_.call_name(e);
    std::uint64_t bytes = 0, blocks = 0;
    const std::vector<Holder> top = holders(heap, host, bytes, blocks);
    Finding f;
    f.kind = "out-of-memory";
    f.severity = Severity::kWarning;
    f.api = call;
    f.bytes = e.p(1);
    const std::uint64_t hole = host ? 0 : heap.largest_freed_hole();
    f.message =
      cat({call, " of ", describe_bytes(e.p(1), family), " failed for lack of memory; this program held ",
           format_bytes(bytes), host ? " of host memory in " : " of device memory in ",
           format_plural(blocks, "block"),
           hole == 0 ? std::string() : cat({", and the largest piece it had freed is ", format_bytes(hole)}),
           "."});
    f.advice = blocks == 0 ? "Ask for less, or look for another program that holds the memory."
                           : "Free what is no longer needed before this call; the largest holders are shown.";
    f.stacks.push_back(labelled("failed here", e.stack, call));
    for (const Holder& holder : top) {
      f.stacks.push_back(labelled(
        cat({"held here: ", format_bytes(holder.bytes), " in ", format_plural(holder.blocks, "block")}),
        holder.stack, facts_.api_name(holder.api)));
    }
    return f;
  }

  static std::vector<Holder> holders(const Heap& heap, bool host, std::uint64_t& bytes,
                                     std::uint64_t& blocks) {
    std::unordered_map<std::uint64_t, Holder> by_stack;
    heap.for_each_live([&](const Block& block) {
      if (host ? !is_host(block.family) : !is_device_family(block.family)) return;
      Holder& holder = by_stack[std::uint64_t{block.allocated.value} << 16 | block.api];
      holder.stack = block.allocated;
      holder.api = block.api;
      holder.bytes += block.bytes;
      ++holder.blocks;
      bytes += block.bytes;
      ++blocks;
    });
    std::vector<Holder> all;
    for (const auto& [key, holder] : by_stack) all.push_back(holder);
    std::ranges::sort(all, [](const Holder& a, const Holder& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.stack.value < b.stack.value;
    });
    if (all.size() > kHolders) all.resize(kHolders);
    return all;
  }

  const ProcessFacts& facts_;
  std::vector<Finding> failures_;
  std::unordered_map<std::uint64_t, std::size_t> by_call_;
};

const DetectorRegistration kOutOfMemoryDetector{{
  .id = "out-of-memory",
  .severity = Severity::kWarning,
  .title = "allocation that failed for lack of memory",
  .explain =
    "An allocation that CUDA refused with 'out of memory'. The finding says what was asked for, how much "
    "this program held at that moment and which call stacks held most of it. If little was held, another "
    "program has the memory. If much had been freed but the largest freed piece is small, the memory is "
    "fragmented: allocate large blocks first, or use stream-ordered allocation (cudaMallocAsync). A program "
    "that handles the failure, such as a caching allocator that then empties its cache, may ignore this.",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<OutOfMemory>(facts);
  },
  .wants = kWantsFailures,
}};

} // namespace
} // namespace gmt
