// SPDX-License-Identifier: Apache-2.0
// leak: what is alive when the program has ended, grouped by allocation stack and family, and what its
// context's end took with it. Called a leak only if the program had the chance to free it: after a signal, a
// sticky error or an unknown end it is listed under "not checked". Works in finish() alone.

#include <algorithm>
#include <string>
#include <unordered_map>

#include "analyzer/detector.h"
#include "analyzer/words.h"

namespace gmt {
namespace {

class Leak : public Detector {
public:
  explicit Leak(const ProcessFacts& facts) : facts_(facts) {}

  // Graph memory: its nodes are freed inside graphs, by calls whose address is not recorded.
  void on_event(const Event& e, std::span<const Judgement>, const Heap&, Findings&) override {
    if (!e.succeeded()) return;
    if (e.kind == trace::Kind::kSync) {
      graph_launched_ |= static_cast<trace::SyncOp>(e.p(2)) == trace::SyncOp::kGraphLaunch;
    } else {
      const std::string_view name = facts_.api_name(e.api);
      graph_edited_ |= name.starts_with("cuGraphAddMemFreeNode") || name.starts_with("cuGraphAddNode");
    }
  }

  void finish(const Heap& heap, Findings& findings) override {
    Groups alive, ended;
    heap.for_each_live([&](const Block& block) {
      if (!can_leak(block.family)) return;
      if (block.family != trace::Family::kGraph) {
        alive.add(block, group_of(block));
      } else if (graph_edited_) {
        findings.not_checked({"leak", "memory of graph nodes is freed inside graphs, which is not followed"});
      } else if (graph_launched_) {
        alive.add(block, group_of(block));
      }
    });
    heap.for_each_ended_with_context([&](const Block& block) {
      if (can_leak(block.family)) ended.add(block, group_of(block));
    });
    const std::string excuse = why_not_a_leak(heap);
    report(alive, excuse, "memory alive then", findings);
    // What a reset took before the program was killed is a leak; after a dead context nothing could be freed.
    report(ended, heap.sticky_error() ? excuse : std::string(), "memory that ended with its context",
           findings);
  }

private:
  struct Group {
    Block example; // the oldest
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 0;
  };

  // Groups in the order of their oldest block.
  struct Groups {
    std::vector<Group> groups;
    std::unordered_map<std::string, std::size_t> by_key;

    void add(const Block& block, Ranges::Path range) {
      std::string key;
      const StackId host_freed = block.shape().host_freed;
      for (const std::uint64_t part : {std::uint64_t{block.allocated.value}, std::uint64_t{block.api},
                                       static_cast<std::uint64_t>(block.family),
                                       std::uint64_t{block.freed.value}, std::uint64_t{block.freed_api},
                                       std::uint64_t{(block.marks & kWasHostFreed) != 0},
                                       std::uint64_t{host_freed.value}, std::uint64_t{range}}) {
        key.append(reinterpret_cast<const char*>(&part), sizeof part);
      }
      const auto [at, is_new] = by_key.try_emplace(std::move(key), groups.size());
      if (is_new) groups.push_back({.example = block});
      groups[at->second].bytes += block.bytes;
      ++groups[at->second].blocks;
    }
  };

  Ranges::Path group_of(const Block& block) const {
    return facts_.groups_by_range() ? facts_.ranges().birth_of(block) : 0;
  }

  // Empty if the program ended in a way that makes what is alive a leak.
  std::string why_not_a_leak(const Heap& heap) const {
    const Ending& ending = facts_.ending();
    if (heap.sticky_error()) {
      return cat({"a kernel or the device failed with ", error_name(heap.sticky_code(), false),
                  ", after which nothing can be freed"});
    }
    switch (ending.how) {
    case Ending::How::kExited: return {};
    case Ending::How::kSignalled:
      return cat({"the program was killed by signal ", std::to_string(ending.signal)});
    case Ending::How::kExec: return "the program replaced itself by another one (exec)";
    case Ending::How::kRunning: return "the program is still running";
    case Ending::How::kUnknown: break;
    }
    return "how the program ended is not known";
  }

  void report(const Groups& groups, const std::string& excuse, std::string_view what,
              Findings& findings) const {
    if (!excuse.empty()) {
      std::uint64_t bytes = 0, blocks = 0;
      for (const Group& group : groups.groups) {
        bytes += group.bytes;
        blocks += group.blocks;
      }
      if (blocks == 0) return;
      findings.not_checked({"leak", cat({excuse, ", so ", what, " (", format_bytes(bytes), " in ",
                                         format_plural(blocks, "block"), ") is not called a leak"})});
      return;
    }
    for (const Group& group : groups.groups) findings.add(finding(group));
  }

  Finding finding(const Group& group) const {
    const Block& block = group.example;
    const std::string_view api = facts_.api_name(block.api);
    const std::string_view release = right_release_for(block, api);
    const bool ended = block.end == Block::End::kContextEnded;
    const std::string_view end_api = facts_.api_name(block.freed_api);
    const std::string amount =
      group.blocks == 1
        ? describe_bytes(group.bytes, block.family)
        : cat({describe_bytes(group.bytes, block.family), " in ", format_plural(group.blocks, "block")});
    Finding f;
    f.kind = "leak";
    f.bytes = group.bytes;
    f.count = group.blocks;
    f.address = block.address;
    f.range = facts_.ranges().text(facts_.ranges().birth_of(block));
    f.group = cat({family_noun(block.family), ended ? " ended" : ""});
    f.stacks.push_back(birth_stack(block, facts_));
    const std::string_view word = released_word(block.family);
    if (ended) {
      f.message = cat({amount, " was still not ", word, " when ", end_api, " ended its context."});
      f.advice = cat({"Call ", release, " before ", end_api, "."});
      f.stacks.push_back(labelled("context ended here", block.freed, end_api));
    } else if ((block.marks & kWasHostFreed) != 0) {
      f.message = cat({amount, " was never ", word, ", though the host freed the memory behind it."});
      f.advice = cat({"Call ", release, " before the memory is freed."});
      f.stacks.push_back(labelled("host memory freed here", block.shape().host_freed, "free"));
    } else {
      f.message = cat({amount, " was never ", word, "."});
      f.advice = cat({"Call ", release, group.blocks == 1 ? " for it" : " for each block",
                      " when it is no longer needed, at the latest before the program ends."});
    }
    return f;
  }

  const ProcessFacts& facts_;
  bool graph_launched_ = false;
  bool graph_edited_ = false;
};

const DetectorRegistration kLeak{{
  .id = "leak",
  .severity = Severity::kError,
  .title = "memory that was never freed",
  .explain =
    "Memory that is alive when the program has returned, called exit or _exit, or that was alive when its "
    "context was destroyed or its device reset. Blocks are grouped by the call stack that allocated them. "
    "Free each block with the function named in the finding. After a signal or a failed kernel, memory that "
    "is alive is listed under 'not checked', since the program had no chance to free it. Memory that a known "
    "library keeps until exit on purpose (caching allocators) is a note. Static device variables never leak.",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<Leak>(facts);
  },
  .wants = wants(trace::Kind::kSync) | wants(trace::Kind::kNote),
}};

} // namespace
} // namespace gmt
