// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/live/live_blocks.h"

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/heap/memory_kinds.h"
#include "analyzer/heap/memory_use.h"

namespace gmt {
namespace {

class BlocksByStack {
public:
  explicit BlocksByStack(const Heap& heap) : heap_(heap) {}

  void add(const Block& block) {
    const bool is_host = is_host_kind(block.memory_kind) || block.device_slot == kHostSlot;
    const int device = is_host ? -1 : heap_.device_of(block);
    const Key key{block.allocated.value, block.api, block.memory_kind, device, block.freed.value};
    const auto [at, is_new] = by_key_.try_emplace(key, all.size());
    if (is_new) all.push_back({.example = block, .device = device});
    all[at->second].bytes += block.bytes;
    ++all[at->second].blocks;
  }

  std::vector<LiveBlocks> all;

private:
  using Key = std::tuple<std::uint32_t, std::uint16_t, trace::MemoryKind, int, std::uint32_t>;
  const Heap& heap_;
  std::map<Key, std::size_t> by_key_;
};

} // namespace

std::vector<LiveBlocks> live_blocks(const Heap& heap,
                                    const std::function<bool(const Block&)>& filter) {
  BlocksByStack blocks(heap);
  const auto add = [&](const Block& block) {
    if (!can_leak(block.memory_kind) || !has_memory(block)) return;
    if (!heap.is_dead(block.context) && filter(block)) blocks.add(block);
  };
  heap.for_each_live(add);
  heap.for_each_ended_with_context(add);
  return std::move(blocks.all);
}

std::vector<LiveBlocks> live_tensors(const Heap& heap,
                                     const std::function<bool(const Block&)>& filter) {
  BlocksByStack tensors(heap);
  heap.for_each_tensor([&](const Block& tensor) {
    if (filter(tensor)) tensors.add(tensor);
  });
  return std::move(tensors.all);
}

Finding unfreed(const LiveBlocks& blocks, const ProcessFacts& facts) {
  const Block& block = blocks.example;
  const std::string_view api = facts.api_name(block.api);
  const std::string amount = describe_blocks(blocks.bytes, blocks.blocks, block.memory_kind);
  Finding f;
  f.kind = "leak";
  f.bytes = blocks.bytes;
  f.count = blocks.blocks;
  f.address = block.address;
  f.range = facts.ranges().text(facts.ranges().path_of_allocation(block));
  f.message = {amount, " was ", allocated_word(block), " and not ",
               released_word(block.memory_kind)};
  f.advice = {"Call ", right_release_for(block, api),
              blocks.blocks == 1 ? " for it" : " for each block", " when it is no longer needed."};
  f.stacks.push_back(allocation_stack(block, facts));
  if (block.end == Block::End::kContextEnded) {
    const std::string_view end = facts.api_name(block.freed_api);
    f.message += Text{" before ", CallName{end}, " ended its context"};
    f.stacks.push_back(stack_as(StackRole::kContextEnded, block.freed, end));
  }
  return f;
}

} // namespace gmt
