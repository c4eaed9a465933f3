// SPDX-License-Identifier: Apache-2.0
// unused: device memory that no copy, set, bind, kernel or other process was ever given, from its
// allocation to its release or the end. Grouped by allocation stack; reported at the end, when it
// is known that no record was lost. A program that failed may not have come to use what it has: one
// note for all of it. Not reported is what served its purpose by being allocated: a few bytes that
// start CUDA, and what a pool is made to grow with; nor single blocks that take no more than the
// smallest one. Libraries ask for a pointer that they do not follow: CUB for one byte of temporary
// storage, without which it takes a call for a question.

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "analyzer/base/signal_name.h"
#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

using trace::MemoryKind;

constexpr std::uint16_t kAnyUse =
  kWasWritten | kWasRead | kWasArgument | kWasBound | kWasExported | kWasTried;

// Memory that only CUDA's calls and kernels can use. The host uses managed and pinned memory
// unseen; handles, reservations and graph memory are used through others.
bool is_device_only(MemoryKind memory_kind) {
  switch (memory_kind) {
  case MemoryKind::kDevice:
  case MemoryKind::kPitched:
  case MemoryKind::kStreamOrdered:
  case MemoryKind::kArray:
  case MemoryKind::kMipmappedArray: return true;
  default: return false;
  }
}

// The first allocation in each context, if it is so small that only the call can have been wanted:
// the usual way to have CUDA start at a chosen moment.
class Starters {
public:
  // cudaMalloc aligns to so many: less takes as much
  static constexpr std::uint64_t kMostBytes = 256;

  void expect(std::uint16_t context) {
    if (!is_known(context)) expected_.push_back(context);
  }
  void note(const Block& block) {
    if (is_known(block.context)) return;
    std::erase(expected_, block.context);
    first_.push_back({block.context, block.allocated_at});
  }
  bool is_one(const Block& block) const {
    return block.bytes <= kMostBytes && std::ranges::any_of(first_, [&](const First& f) {
             return f.context == block.context && f.allocated_at == block.allocated_at;
           });
  }
  bool all_known() const { return expected_.empty() && !first_.empty(); }

private:
  struct First {
    std::uint16_t context;
    std::uint64_t allocated_at;
  };
  bool is_known(std::uint16_t context) const {
    return std::ranges::any_of(first_, [context](const First& f) { return f.context == context; });
  }

  std::vector<First> first_;
  std::vector<std::uint16_t> expected_; // contexts that have allocated nothing yet
};

// Blocks that only made their pool grow: given back unused before the pool gave out the first block
// that was used, which was no larger. What a pool has it gives out again without asking the driver.
class Primers {
public:
  static constexpr std::size_t kMost = 16; // of a pool: a program may fill one in pieces

  struct Primer {
    std::size_t group;
    std::uint64_t bytes, freed_at;
  };

  void note_used(const Block& block) {
    Pool& pool = pool_of(block);
    if (block.allocated_at >= pool.first_used) return;
    pool.first_used = block.allocated_at;
    pool.first_bytes = block.bytes;
  }
  void note_unused(const Block& block, std::size_t group, std::uint64_t freed_at) {
    Pool& pool = pool_of(block);
    if (pool.candidates.size() < kMost) pool.candidates.push_back({group, block.bytes, freed_at});
  }
  template <typename Visit> void for_each(Visit&& visit) const {
    for (const Pool& pool : pools_) {
      for (const Primer& p : pool.candidates) {
        if (pool.first_used != kNever && p.freed_at < pool.first_used &&
            p.bytes >= pool.first_bytes)
          visit(p);
      }
    }
  }

private:
  static constexpr std::uint64_t kNever = UINT64_MAX;
  struct Pool {
    std::uint64_t handle, device_slot; // 0: the default pool of the device
    std::uint64_t first_used = kNever, first_bytes = 0;
    std::vector<Primer> candidates = {};
  };
  Pool& pool_of(const Block& block) {
    const std::uint64_t handle = block.shape().pool;
    const auto is_it = [&](const Pool& p) {
      return p.handle == handle && p.device_slot == block.device_slot;
    };
    if (last_ < pools_.size() && is_it(pools_[last_])) return pools_[last_];
    const auto found = std::ranges::find_if(pools_, is_it);
    last_ = static_cast<std::size_t>(found - pools_.begin());
    if (found == pools_.end())
      pools_.push_back({.handle = handle, .device_slot = block.device_slot});
    return pools_[last_];
  }
  std::vector<Pool> pools_;
  std::size_t last_ = 0;
};

// Blocks take so many bytes at least: fewer save nothing, unless there are many.
constexpr std::uint64_t kSmallest = 512, kManySmall = 100;

constexpr Wants kEnds = wants(EventKind::kFree) | wants(EventKind::kContext);
constexpr Wants kFirsts = kEnds | wants(EventKind::kAlloc);

class Unused : public Detector {
public:
  explicit Unused(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    if (e.kind == EventKind::kContext) {
      starters_.expect(e.context);
      return watch(starters_.all_known() ? kEnds : kFirsts);
    }
    if (!e.succeeded()) return;
    for (const Access& access : heap.accesses()) {
      if (access.kind == Access::Kind::kEnded) consider(*access.block, heap, e.order & kOrderMask);
      if (access.kind == Access::Kind::kAllocated) starters_.note(*access.block);
    }
    if (e.kind == EventKind::kAlloc && starters_.all_known()) watch(kEnds);
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    heap.for_each_ended_with_context([&](const Block& block) { consider(block, heap, kAlive); });
    // A program that was cut short had no time to use what it has.
    const bool check_live = end.ending.how == Ending::How::kExited && !heap.sticky_error();
    heap.for_each_live([&](const Block& block) {
      if (check_live || (block.flags & kAnyUse) != 0) consider(block, heap, kAlive);
    });
    primers_.for_each([this](const Primers::Primer& primer) {
      groups_[primer.group].bytes -= primer.bytes;
      --groups_[primer.group].blocks;
    });
    std::erase_if(groups_, [](const Group& group) {
      return group.blocks == 0 || (group.largest <= kSmallest && group.blocks < kManySmall);
    });
    if (groups_.empty()) return;
    if (std::string why = why_uses_are_unseen(end, facts_, heap); !why.empty()) {
      findings.not_checked({"unused", std::move(why)});
      return;
    }
    if (const Text failure = failure_of(end.ending, heap); !failure.empty())
      return findings.add(note(failure));
    for (const Group& group : groups_) findings.add(finding(group));
  }

private:
  static constexpr std::uint64_t kAlive = UINT64_MAX; // when it died

  struct Key {
    std::uint32_t stack;
    std::uint16_t api;
    MemoryKind memory_kind;
    bool kernels_ran;
    bool operator==(const Key&) const = default;
  };
  struct Group {
    Key key;
    Block example;
    std::uint64_t bytes = 0, blocks = 0;
    std::uint64_t largest = 0; // bytes of a block
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return (std::size_t{key.stack} << 32 | std::size_t{key.api} << 16 |
              static_cast<std::size_t>(key.memory_kind) << 1 | (key.kernels_ran ? 1 : 0)) *
             0x9e3779b97f4a7c15u;
    }
  };

  void consider(const Block& block, const Heap& heap, std::uint64_t freed_at) {
    const bool in_pool = block.memory_kind == MemoryKind::kStreamOrdered;
    if ((block.flags & kAnyUse) != 0) {
      if (in_pool) primers_.note_used(block);
      return;
    }
    if (!is_device_only(block.memory_kind) || starters_.is_one(block)) return;
    if (block.allocated_at < heap.last_blind_call()) return; // may have been given to it
    const bool kernels_ran = block.allocated_at < heap.last_kernel();
    // What a kernel finds in memory is not recorded, though the device there sees its use
    if (kernels_ran && facts_.simulated()) return;
    const std::size_t group =
      group_of({block.allocated.value, block.api, block.memory_kind, kernels_ran}, block);
    groups_[group].bytes += block.bytes;
    ++groups_[group].blocks;
    const std::uint64_t size = block.bytes != 0 ? block.bytes : UINT64_MAX; // 0: unknown
    groups_[group].largest = std::max(groups_[group].largest, size);
    if (in_pool && freed_at != kAlive) primers_.note_unused(block, group, freed_at);
  }

  // Nearly always the one that its stack had last.
  std::size_t group_of(const Key& key, const Block& block) {
    if (newest_.size() <= key.stack) newest_.resize(std::size_t{key.stack} + 1, kNone);
    std::size_t& newest = newest_[key.stack];
    if (newest != kNone && groups_[newest].key == key) return newest;
    const auto [at, is_new] = by_key_.try_emplace(key, groups_.size());
    if (is_new) {
      groups_.push_back({.key = key, .example = block});
      groups_.back().example.detail = nullptr; // the heap's, and reused
    }
    newest = at->second;
    return newest;
  }

  // How the program failed; empty if it did not.
  static Text failure_of(const Ending& ending, const Heap& heap) {
    if (heap.sticky_error()) return {"met ", error_text(heap.sticky_code(), false)};
    if (ending.how == Ending::How::kSignalled)
      return cat({"was killed by ", signal_name(ending.signal)});
    if (ending.how != Ending::How::kExited || ending.status == 0) return {};
    return cat({"ended with exit status ", std::to_string(ending.status)});
  }

  // All allocation stacks of a program that failed, those with most bytes first.
  Finding note(const Text& failure) const {
    std::vector<Group> stacks;
    Finding f;
    std::uint64_t blocks = 0;
    bool alike = true;
    for (const Group& group : groups_) {
      const auto same = std::ranges::find_if(stacks, [&](const Group& p) {
        return p.key.stack == group.key.stack && p.key.api == group.key.api &&
               p.key.memory_kind == group.key.memory_kind;
      });
      Group& stack =
        same != stacks.end() ? *same : stacks.emplace_back(Group{group.key, group.example});
      stack.bytes += group.bytes;
      stack.blocks += group.blocks;
      f.bytes += group.bytes;
      blocks += group.blocks;
      alike = alike && group.key.memory_kind == groups_.front().key.memory_kind;
    }
    std::ranges::stable_sort(stacks, std::greater{}, &Group::bytes);
    f.kind = "unused";
    f.severity = Severity::kNote;
    f.count = blocks;
    f.message = {"The program ",
                 failure,
                 ": ",
                 alike ? describe_bytes(f.bytes, groups_.front().key.memory_kind)
                       : cat({format_bytes(f.bytes), " of memory"}),
                 " in ",
                 format_plural(f.count, "block"),
                 stacks.size() == 1 ? "" : cat({" from ", format_plural(stacks.size(), "place")}),
                 " was never used, maybe because it did not come that far"};
    f.advice = "Look at the failure first; what is unused in a run that succeeds is a warning.";
    f.group = "failed";
    for (const Group& stack : stacks) {
      f.stacks.push_back(allocation_stack(stack.example, facts_));
      f.stacks.back().amount = {stack.bytes, stack.blocks};
    }
    return f;
  }

  Finding finding(const Group& group) const {
    const Block& block = group.example;
    Finding f;
    f.kind = "unused";
    f.severity = group.key.kernels_ran ? Severity::kNote : Severity::kWarning;
    f.message = {describe_bytes(group.bytes, block.memory_kind),
                 group.blocks == 1 ? "" : cat({" in ", format_plural(group.blocks, "block")}),
                 " allocated by ",
                 CallName{facts_.api_name(block.api)},
                 " was never used: no copy, set, texture or kernel "
                 "was given a pointer into it",
                 group.key.kernels_ran ? ", though a kernel may have found one in memory" : ""};
    f.advice =
      "Leave the allocation out, or allocate when the memory is needed. Keep it where a library "
      "wants an address that it does not use, such as CUB's temporary storage.";
    f.bytes = group.bytes;
    f.count = group.blocks;
    f.address = block.address;
    f.group = cat({memory_noun(block.memory_kind), group.key.kernels_ran ? " note" : ""});
    f.stacks.push_back(allocation_stack(block, facts_));
    return f;
  }

  const ProcessFacts& facts_;
  Starters starters_;
  Primers primers_;
  std::vector<Group> groups_;
  std::unordered_map<Key, std::size_t, Hash> by_key_;
  static constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> newest_; // in groups_, by stack
};

const DetectorRegistration kUnused{{
  .id = "unused",
  .severity = Severity::kWarning,
  .title = "device memory that nothing ever used",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<Unused>(facts);
  },
  .wants = kFirsts,
  .measure = Measure::kBlocks,
  .owner_excuse = {
    .clause = [](const Owner& owner) { return cat({owner.name, " allocated it for itself"}); },
    .advice = [](const Owner&) { return std::string("Nothing to do."); }},
}};

} // namespace
} // namespace gmt
