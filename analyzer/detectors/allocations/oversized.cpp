// SPDX-License-Identifier: Apache-2.0
// oversized: a large block of device memory of which copies and sets reached a quarter or less, and
// which nothing else was given. Grouped by allocation stack; reported at the end, when it is known
// that no record was lost. A call stack is left out if any large block from there was used further:
// buffers of one size hold now more, now less. A program that failed may not have come to use what
// it has, and is not checked. A block with no use at all is `unused`'s.
//
// Invariants: ranges are kept for blocks of kLarge bytes and more that are alive or ended with
// their context.

#include <compare>
#include <map>
#include <unordered_map>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/byte_ranges.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

using trace::MemoryKind;

constexpr std::uint64_t kLarge = 1 << 20;
constexpr std::uint64_t kFraction = 4; // of the block: used up to one of so many parts

constexpr std::uint16_t kCopyUse = kWasWritten | kWasRead;
// Ways of use that do not say which bytes they reach.
constexpr std::uint16_t kOtherUse = kWasArgument | kWasBound | kWasExported | kWasTried;

// Memory of a range of addresses that only CUDA's calls and kernels can use. A pool of the
// program's own may lie on the host, or be another process's.
bool may_check(const Block& block) {
  if (block.bytes < kLarge || block.device_slot == kHostSlot) return false;
  switch (block.memory_kind) {
  case MemoryKind::kDevice:
  case MemoryKind::kPitched: return true;
  case MemoryKind::kStreamOrdered: return block.shape().pool == 0;
  default: return false;
  }
}

class Oversized : public Detector {
public:
  explicit Oversized(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    for (const Access& access : heap.accesses()) {
      const Block& block = *access.block;
      if (!may_check(block)) continue;
      if (access.kind == Access::Kind::kEnded) {
        if (e.succeeded()) consider(block, heap);
        used_.erase(block.address);
      } else if ((block.flags & kOtherUse) == 0) {
        note_use(access);
      }
    }
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    const Ending& ending = end.ending;
    if (ending.how != Ending::How::kExited || ending.status != 0 || heap.sticky_error()) return;
    const auto check = [&](const Block& block) {
      if (may_check(block)) consider(block, heap);
    };
    heap.for_each_ended_with_context(check);
    heap.for_each_live(check);
    std::erase_if(groups_, [&](const auto& group) { return is_used_further(group.first); });
    if (groups_.empty()) return;
    if (std::string why = why_uses_are_unseen(end, facts_, heap); !why.empty()) {
      findings.not_checked({"oversized", std::move(why)});
      return;
    }
    for (const auto& [key, group] : groups_) findings.add(finding(key, group));
  }

private:
  struct Used { // of one block
    std::uint64_t allocated_at = 0;
    ByteRanges ranges;
  };
  struct Key {
    std::uint32_t stack;
    std::uint16_t api;
    MemoryKind memory_kind;
    bool kernels_ran;
    auto operator<=>(const Key&) const = default;
  };
  struct Group {
    Block example;
    std::uint64_t bytes = 0, used = 0, blocks = 0;
  };

  // What a copy reads and no copy wrote, a kernel has written that found the block in memory: it
  // may have used all of it. If none has, `uninitialized-read` says so.
  void note_use(const Access& access) {
    const Block& block = *access.block;
    Used& used = used_[block.address];
    if (used.allocated_at != block.allocated_at) used = {block.allocated_at, {}};
    const std::uint64_t block_end = block.address + block.bytes;
    const std::uint64_t end = access.address + access.bytes;
    const bool reads = access.kind == Access::Kind::kRead;
    if (access.bytes == 0 || (reads && used.ranges.missing(access.address, end) != 0))
      return used.ranges.add(block.address, block_end);
    used.ranges.add(access.address, end);
  }

  void consider(const Block& block, const Heap& heap) {
    if ((block.flags & kOtherUse) != 0) return note_used_further(block);
    if ((block.flags & kCopyUse) == 0) return;               // `unused` reports it
    if (block.allocated_at < heap.last_blind_call()) return; // may have been given to it
    const auto found = used_.find(block.address);
    if (found == used_.end() || found->second.allocated_at != block.allocated_at) return;
    const std::uint64_t end = block.address + block.bytes;
    const std::uint64_t used = block.bytes - found->second.ranges.missing(block.address, end);
    if (used > block.bytes / kFraction) return note_used_further(block);
    const bool kernels_ran = block.allocated_at < heap.last_kernel();
    Group& group = groups_[{block.allocated.value, block.api, block.memory_kind, kernels_ran}];
    if (group.blocks == 0) {
      group.example = block;
      group.example.detail = nullptr; // the heap's, and reused
    }
    group.bytes += block.bytes;
    group.used += used;
    ++group.blocks;
  }

  void note_used_further(const Block& block) {
    const std::size_t stack = block.allocated.value;
    if (used_further_.size() <= stack) used_further_.resize(stack + 1);
    used_further_[stack] = true;
  }
  bool is_used_further(const Key& key) const {
    return key.stack < used_further_.size() && used_further_[key.stack];
  }

  Finding finding(const Key& key, const Group& group) const {
    const Block& block = group.example;
    Finding f;
    f.kind = "oversized";
    f.severity = key.kernels_ran ? Severity::kNote : Severity::kWarning;
    f.message = {"Only ",
                 format_bytes(group.used),
                 " of ",
                 describe_bytes(group.bytes, block.memory_kind),
                 group.blocks == 1 ? "" : cat({" in ", format_plural(group.blocks, "block")}),
                 " allocated by ",
                 CallName{facts_.api_name(block.api)},
                 " was ever used: copies and sets reached no more, and no texture or kernel was "
                 "given a pointer into it",
                 key.kernels_ran ? ", though a kernel may have found one in memory" : ""};
    f.advice = "Allocate as much as is used, or look whether a copy was meant to reach further "
               "(bytes, not elements).";
    f.bytes = group.bytes;
    f.count = group.blocks;
    f.address = block.address;
    f.group = cat({memory_noun(block.memory_kind), key.kernels_ran ? " note" : ""});
    f.stacks.push_back(allocation_stack(block, facts_));
    return f;
  }

  const ProcessFacts& facts_;
  std::unordered_map<std::uint64_t, Used> used_; // by address
  std::map<Key, Group> groups_;
  std::vector<bool> used_further_; // by stack
};

const DetectorRegistration kOversized{{
  .id = "oversized",
  .severity = Severity::kWarning,
  .title = "a large block of device memory that is used to a small part",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<Oversized>(facts);
  },
  .wants = wants(EventKind::kCopy) | wants(EventKind::kSet) | wants(EventKind::kFree),
  .measure = Measure::kBlocks,
  .owner_excuse = {
    .clause = [](const Owner& owner) { return cat({owner.name, " allocated it for itself"}); },
    .advice = [](const Owner&) { return std::string("Nothing to do."); }},
}};

} // namespace
} // namespace gmt
