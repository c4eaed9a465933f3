// SPDX-License-Identifier: Apache-2.0
// churn: memory that is allocated and freed over and over. Checked by the number of pairs of equal
// size from one call stack, with the time that CUDA spent in them. Stream-ordered memory is the
// cure, so it counts only where a pair is slow, as when its pool gives the memory back at every
// synchronisation. Its releases wait for nothing and have no time.
//
// Costs a few array accesses for each allocation and free, and memory for each call stack, not for
// each size: a stack keeps the kSizes sizes that it is seen with most.

#include <algorithm>
#include <array>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

using trace::MemoryKind;

constexpr std::uint32_t kPairs = 1000;
// A pair from a pool takes 1 us, one that has to map memory more than 50 (measured on an H200).
constexpr double kSlowPoolPair = 20'000; // ns

bool costs_much(MemoryKind memory_kind) {
  switch (memory_kind) {
  case MemoryKind::kDevice:
  case MemoryKind::kPitched:
  case MemoryKind::kManaged:
  case MemoryKind::kPinned:
  case MemoryKind::kRegistered:
  case MemoryKind::kArray:
  case MemoryKind::kMipmappedArray:
  case MemoryKind::kStreamOrdered: return true;
  default: return false;
  }
}

class Churn : public Detector {
public:
  explicit Churn(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    if (!e.succeeded() || heap.accesses().empty()) return;
    const Access& access = heap.accesses().front();
    const Block& block = *access.block;
    if (!block.allocated || !costs_much(block.memory_kind)) return;
    if (access.kind == Access::Kind::kAllocated) {
      if (Pairs* pairs = known(block)) {
        pairs->ticks_of_allocations += e.ticks;
        ++pairs->allocations;
      }
    } else if (access.kind == Access::Kind::kEnded) {
      count(block, e.ticks);
    }
  }

  void finish(const EndOfTrace&, const Heap&, Findings& findings) override {
    for (std::size_t stack = 0; stack < stacks_.size(); ++stack) {
      const Sizes& sizes = stacks_[stack];
      for (std::size_t at = 0; at < kSizes; ++at) {
        if (sizes.frees[at] < kPairs) continue;
        Pairs& pairs = pairs_[stack][at];
        pairs.bytes = sizes.bytes[at];
        pairs.frees = sizes.frees[at];
        check(StackId{static_cast<std::uint32_t>(stack)}, pairs, findings);
      }
    }
  }

private:
  static constexpr std::size_t kSizes = 4;

  // The sizes of one stack, in a cache line of their own: of sizes that come once no more than this
  // is read or written.
  struct alignas(64) Sizes {
    std::array<std::uint64_t, kSizes> bytes{};
    std::array<std::uint32_t, kSizes> frees{}; // 0: the slot is empty
    std::array<std::uint16_t, kSizes> api{};
  };

  // What is added up of one size from the second free on: the first one of all costs more than
  // others.
  struct Pairs {
    std::uint64_t bytes = 0; // from finish() on, as `frees`; Sizes has them before
    std::uint64_t ticks_of_allocations = 0, ticks_of_frees = 0;
    std::uint32_t allocations = 0;
    std::uint32_t frees = 0;
    StackId freed; // the second
    std::uint16_t api = 0, freed_api = 0;
    MemoryKind memory_kind = MemoryKind::kUnknown;
  };

  // The slot of a block's size among those of its stack; kSizes if it has none.
  static std::size_t slot_of(const Sizes& sizes, const Block& block) {
    std::size_t at = 0;
    while (at < kSizes &&
           (sizes.bytes[at] != block.bytes || sizes.frees[at] == 0 || sizes.api[at] != block.api)) {
      ++at;
    }
    return at;
  }

  // Null unless two blocks of this size were freed before.
  Pairs* known(const Block& block) {
    const std::size_t stack = block.allocated.value;
    if (stack >= stacks_.size()) return nullptr;
    const std::size_t at = slot_of(stacks_[stack], block);
    return at < kSizes && stacks_[stack].frees[at] > 1 ? &pairs_[stack][at] : nullptr;
  }

  // One more free. The entry of a new size replaces the rarest.
  void count(const Block& block, std::uint64_t ticks) {
    const std::size_t stack = block.allocated.value;
    if (stack >= stacks_.size()) {
      stacks_.resize(stack + 1);
      pairs_.resize(stack + 1);
    }
    Sizes& sizes = stacks_[stack];
    std::size_t at = slot_of(sizes, block);
    if (at == kSizes) {
      at = static_cast<std::size_t>(std::ranges::min_element(sizes.frees) - sizes.frees.begin());
      sizes.bytes[at] = block.bytes;
      sizes.frees[at] = 1;
      sizes.api[at] = block.api;
      return;
    }
    Pairs& pairs = pairs_[stack][at];
    if (++sizes.frees[at] == 2) {
      pairs = {.freed = block.freed,
               .api = block.api,
               .freed_api = block.freed_api,
               .memory_kind = block.memory_kind};
    }
    pairs.ticks_of_frees += ticks;
  }

  // Mean of a pair in ns; 0 if no call's time is known.
  double time_of(const Pairs& pairs) const {
    const double allocation =
      facts_.nanoseconds(pairs.ticks_of_allocations) / std::max(1U, pairs.allocations);
    return allocation + facts_.nanoseconds(pairs.ticks_of_frees) / (pairs.frees - 1);
  }

  void check(StackId stack, const Pairs& pairs, Findings& findings) const {
    const double time = time_of(pairs);
    const bool of_pool = pairs.memory_kind == MemoryKind::kStreamOrdered;
    // The fence takes longer, and what the simulated device takes says nothing of a GPU.
    const bool is_known = !facts_.is_guarded() && !facts_.simulated();
    if (of_pool && (time < kSlowPoolPair || !is_known)) return;
    const std::string_view api = facts_.api_name(pairs.api);
    const std::string_view freed_api = facts_.api_name(pairs.freed_api);
    const bool registered = pairs.memory_kind == MemoryKind::kRegistered;
    Finding f;
    f.kind = "churn";
    f.severity = Severity::kWarning;
    f.api = api;
    f.bytes = pairs.bytes;
    f.count = pairs.frees;
    f.group = std::to_string(pairs.bytes);
    const std::string spent = time == 0 ? std::string("; how long that took is not known")
                                        : cat({", which took ", format_duration(time * pairs.frees),
                                               " (", format_duration(time), " a pair)"});
    f.message = cat({describe_bytes(pairs.bytes, pairs.memory_kind),
                     registered ? " was registered and unregistered " : " was allocated and freed ",
                     format_count(pairs.frees), " times from one place", spent});
    f.advice = advice(pairs, is_runtime_name(api));
    f.stacks.push_back(
      stack_as(registered ? StackRole::kRegistered : StackRole::kAllocated, stack, api));
    f.stacks.push_back(
      stack_as(registered ? StackRole::kUnregistered : StackRole::kFreed, pairs.freed, freed_api));
    findings.add(std::move(f));
  }

  static Text advice(const Pairs& pairs, bool runtime) {
    switch (pairs.memory_kind) {
    case MemoryKind::kDevice:
      return {
        "Allocate it once and use it again, or call ",
        ApiWord{runtime, "cuMemAllocAsync and cuMemFreeAsync", "cudaMallocAsync and cudaFreeAsync"},
        " on the stream that uses it: they take it from a pool and do not wait for the device."};
    case MemoryKind::kStreamOrdered:
      return {
        "Let the pool keep freed memory: call ",
        ApiWord{runtime, "cuMemPoolSetAttribute with CU_MEMPOOL_ATTR_RELEASE_THRESHOLD",
                "cudaMemPoolSetAttribute with cudaMemPoolAttrReleaseThreshold"},
        " before the first allocation; by default it gives it back at every synchronisation."};
    case MemoryKind::kPinned: return "Allocate it once and use it again: pinning memory is slow.";
    case MemoryKind::kRegistered:
      return "Register it once and keep it registered: pinning memory is slow.";
    default: return "Allocate it once and use it again.";
    }
  }

  const ProcessFacts& facts_;
  std::vector<Sizes> stacks_;
  // Of the same stacks // by the id of the allocation's stack
  std::vector<std::array<Pairs, kSizes>> pairs_;
};

const DetectorRegistration kChurn{{
  .id = "churn",
  .severity = Severity::kWarning,
  .title = "memory allocated and freed over and over",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<Churn>(facts);
  },
  .wants = wants(EventKind::kAlloc) | wants(EventKind::kFree),
  .owner_excuse = {
    .clause = [](const Owner& owner) { return cat({owner.name, " does that itself"}); },
    .advice = [](const Owner&) { return std::string("Nothing to do."); }},
}};

} // namespace
} // namespace gmt
