// SPDX-License-Identifier: Apache-2.0
// unused: device memory that no copy, set, bind, kernel or other process was ever given, from its allocation
// to its release or the end. Grouped by allocation stack; told at the end, when it is known that no record
// was lost.

#include <array>
#include <unordered_map>

#include "analyzer/detector.h"
#include "analyzer/words.h"

namespace gmt {
namespace {

using trace::Family;

constexpr std::uint16_t kAnyUse =
  kWasWritten | kWasRead | kWasArgument | kWasBound | kWasExported | kWasTried;

// Memory that only CUDA's calls and kernels can use. The host uses managed and pinned memory unseen; handles,
// reservations and graph memory are used through others.
bool is_judged(Family family) {
  switch (family) {
  case Family::kDevice:
  case Family::kPitched:
  case Family::kStreamOrdered:
  case Family::kArray:
  case Family::kMipmappedArray: return true;
  default: return false;
  }
}

class Unused : public Detector {
public:
  explicit Unused(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Judgement>, const Heap& heap, Findings&) override {
    if (!e.succeeded()) return;
    for (const Touch& touch : heap.touched()) {
      if (touch.access == Touch::Access::kEnded) consider(*touch.block, heap);
    }
  }

  void finish(const Heap& heap, Findings& findings) override {
    heap.for_each_ended_with_context([&](const Block& block) { consider(block, heap); });
    // A program that was cut short had no time to use what it has.
    if (facts_.ending().how == Ending::How::kExited && !heap.sticky_error()) {
      heap.for_each_live([&](const Block& block) { consider(block, heap); });
    }
    if (groups_.empty()) return;
    if (std::string why = why_uses_are_unseen(facts_, heap); !why.empty()) {
      findings.not_checked({"unused", std::move(why)});
      return;
    }
    for (const Group& group : groups_) findings.add(finding(group));
  }

private:
  struct Key {
    std::uint32_t stack;
    std::uint16_t api;
    Family family;
    bool kernels_ran;
    bool operator==(const Key&) const = default;
  };
  struct Group {
    Key key;
    Block example;
    std::uint64_t bytes = 0, blocks = 0;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return (std::size_t{key.stack} << 32 | std::size_t{key.api} << 16 |
              static_cast<std::size_t>(key.family) << 1 | (key.kernels_ran ? 1 : 0)) *
             0x9e3779b97f4a7c15u;
    }
  };

  void consider(const Block& block, const Heap& heap) {
    if ((block.marks & kAnyUse) != 0 || !is_judged(block.family)) return;
    if (block.born < heap.last_blind_call()) return; // may have been given to it
    const bool kernels_ran = block.born < heap.last_kernel();
    Group& group = group_of({block.allocated.value, block.api, block.family, kernels_ran}, block);
    group.bytes += block.bytes;
    ++group.blocks;
  }

  // Nearly always the one that its stack had last.
  Group& group_of(const Key& key, const Block& block) {
    if (newest_.size() <= key.stack) newest_.resize(std::size_t{key.stack} + 1, kNone);
    std::size_t& newest = newest_[key.stack];
    if (newest != kNone && groups_[newest].key == key) return groups_[newest];
    const auto [at, is_new] = by_key_.try_emplace(key, groups_.size());
    if (is_new) {
      groups_.push_back({.key = key, .example = block});
      groups_.back().example.detail = nullptr; // the heap's, and reused
    }
    newest = at->second;
    return groups_[newest];
  }

  Finding finding(const Group& group) const {
    const Block& block = group.example;
    Finding f;
    f.kind = "unused";
    f.severity = group.key.kernels_ran ? Severity::kNote : Severity::kWarning;
    f.message = cat({describe_bytes(group.bytes, block.family),
                     group.blocks == 1 ? "" : cat({" in ", format_plural(group.blocks, "block")}),
                     " allocated by ", facts_.api_name(block.api),
                     " was never used: no copy, set, texture or kernel "
                     "was given a pointer into it"});
    f.message += group.key.kernels_ran ? ", though a kernel may have found one in memory." : ".";
    f.advice = "Leave the allocation out, or allocate when the memory is needed.";
    f.bytes = group.bytes;
    f.count = group.blocks;
    f.address = block.address;
    f.group = cat({family_noun(block.family), group.key.kernels_ran ? " note" : ""});
    f.stacks.push_back(birth_stack(block, facts_));
    return f;
  }

  const ProcessFacts& facts_;
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
  .wants = wants(trace::Kind::kFree),
}};

} // namespace
} // namespace gmt
