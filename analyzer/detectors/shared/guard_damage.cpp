// SPDX-License-Identifier: Apache-2.0
// Copies and sets that pass a block's end have findings of their own, and what they wrote is not
// blamed on a kernel. Memory grows with the blocks that launches were given.

#include "analyzer/detectors/shared/guard_damage.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

using trace::GuardMoment;

constexpr std::size_t kMostLaunches = 3; // of different call sites, the last ones
constexpr std::size_t kMostShown = 16;   // bytes

// A call site that launched a kernel which was given the block.
struct Launch {
  StackId stack;
  std::string api;
  std::uint64_t order = 0;
};
struct Launches {
  std::vector<Launch> last; // the newest behind
  std::uint64_t count = 0;  // in all
};

std::string bytes_found(const event::GuardDamage& damage) {
  const std::uint64_t words[] = {damage.found, damage.found_more};
  const std::size_t count = std::min<std::uint64_t>(damage.changed, kMostShown);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x",
                  static_cast<unsigned>(words[i / 8] >> i % 8 * 8 & 0xff));
    text += cat({text.empty() ? "" : " ", byte});
  }
  if (damage.changed > count) text += " ...";
  return text;
}

std::string_view moment_words(GuardMoment moment) {
  switch (moment) {
  case GuardMoment::kFree: return "when it was freed";
  case GuardMoment::kEnd: return "at the end";
  case GuardMoment::kLaunch: return "behind a launch";
  }
  return "later";
}

class GuardDamage : public Detector {
public:
  explicit GuardDamage(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict> verdicts, const Heap& heap,
                Findings& findings) override {
    for (const Verdict& verdict : verdicts) {
      if (verdict.kind == Verdict::Kind::kOutOfBounds && verdict.block != nullptr)
        written_by_copies_.insert(verdict.block->address);
    }
    if (e.kind == EventKind::kAlloc && e.succeeded()) forget(e.allocation().address);
    if (e.kind == EventKind::kLaunch) on_launch(e, heap);
    if (e.kind == EventKind::kGuardDamage) on_damage(e, heap, findings);
  }

private:
  void forget(std::uint64_t address) {
    launches_.erase(address);
    written_by_copies_.erase(address);
  }

  void on_launch(const Event& e, const Heap& heap) {
    for (const Access& access : heap.accesses()) {
      if (access.kind != Access::Kind::kArgument || access.block == nullptr) continue;
      Launches& known = launches_[access.block->address];
      ++known.count;
      std::erase_if(known.last, [&](const Launch& launch) { return launch.stack == e.stack; });
      if (known.last.size() == kMostLaunches) known.last.erase(known.last.begin());
      known.last.push_back({e.stack, std::string(facts_.call_name(e)), e.order});
    }
  }

  static const Block* block_at(std::uint64_t address, const Heap& heap) {
    const Block* block = heap.find_live(address);
    if (block == nullptr || block->address != address) block = heap.find_freed(address);
    return block != nullptr && block->address == address ? block : nullptr;
  }

  void on_damage(const Event& e, const Heap& heap, Findings& findings) {
    const event::GuardDamage& damage = e.guard_damage();
    const Block* block = block_at(damage.address, heap);
    if (block == nullptr || written_by_copies_.contains(damage.address)) return;
    const auto offset = static_cast<std::int64_t>(damage.offset);
    const bool behind = offset >= 0;
    const std::uint64_t distance = behind ? damage.offset - damage.bytes : 0 - damage.offset;
    Finding f;
    f.kind = "kernel-out-of-bounds";
    f.bytes = damage.changed;
    f.address = damage.address + damage.offset;
    f.group = behind ? "behind" : "before";
    std::string where = behind ? "past the end of " : "before ";
    if (distance != 0 || !behind) where = cat({format_exact_bytes(distance), " ", where});
    else where = cat({"just ", where});
    f.message = {"A kernel wrote ",
                 format_exact_bytes(damage.changed),
                 " that begin ",
                 where,
                 describe_block(*block, facts_),
                 "; ",
                 moment_words(damage.moment),
                 ", these bytes were there: ",
                 bytes_found(damage)};
    add_launches(f, damage);
    if (damage.moment == GuardMoment::kFree && block->freed.value != 0)
      f.stacks.push_back(stack_as(release_role(block->memory_kind), block->freed,
                                  facts_.api_name(block->freed_api)));
    f.stacks.push_back(allocation_stack(*block, facts_));
    findings.add(std::move(f));
  }

  // Which kernel it was is not recorded: those that were given the block since it was whole.
  void add_launches(Finding& f, const event::GuardDamage& damage) const {
    constexpr std::string_view kHow =
      "--guard-check launch finds the launch, and with --guard-align 16 most such stores fault "
      "where they are made.";
    const auto found = launches_.find(damage.address);
    std::vector<Launch> given;
    if (found != launches_.end()) {
      std::ranges::copy_if(found->second.last, std::back_inserter(given),
                           [&](const Launch& launch) { return launch.order > damage.since; });
    }
    if (given.empty()) {
      f.advice = cat({"No launch is known that was given the block: a kernel reached it through "
                      "other memory. ",
                      kHow});
      return;
    }
    f.advice = given.size() == 1
                 ? cat({"Look at the bounds of the stores of the kernel that is launched there: no "
                        "other launch is known that was given the block. ",
                        kHow})
                 : cat({"Look at the bounds of the stores of these kernels, which were given the "
                        "block since it was whole: one of them wrote there. ",
                        kHow});
    for (auto launch = given.rbegin(); launch != given.rend(); ++launch)
      f.stacks.push_back(stack_as(StackRole::kLaunched, launch->stack, launch->api));
  }

  const ProcessFacts& facts_;
  std::unordered_map<std::uint64_t, Launches> launches_; // by the block's address
  std::unordered_set<std::uint64_t> written_by_copies_;
};

} // namespace

std::unique_ptr<Detector> make_guard_damage(const ProcessFacts& facts) {
  if (!facts.is_guarded()) return nullptr;
  return std::make_unique<GuardDamage>(facts);
}

} // namespace gmt
