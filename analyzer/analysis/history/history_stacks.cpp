// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/history/history_stacks.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

void choose_largest(std::span<const StackUse> uses, std::uint64_t StackUse::* figure,
                    std::size_t most, std::vector<bool>& chosen) {
  std::vector<std::size_t> order(uses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t count = std::min(most, order.size());
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(order.begin(), middle, order.end(), [&](std::size_t a, std::size_t b) {
    return uses[a].*figure != uses[b].*figure ? uses[a].*figure > uses[b].*figure : a < b;
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (uses[order[i]].*figure != 0) chosen[order[i]] = true;
  }
}

} // namespace

void choose_stacks(const StackSources& sources, std::size_t most, MemoryHistory& history) {
  const std::span<const StackUse> uses = sources.uses;
  std::vector<bool> chosen(uses.size());
  for (std::uint64_t StackUse::* figure : {&StackUse::peak_bytes, &StackUse::live_bytes,
                                           &StackUse::allocated_bytes, &StackUse::allocations}) {
    choose_largest(uses, figure, most, chosen);
  }
  std::unordered_set<std::uint32_t> in_layers;
  for (const MemoryHistory::LayerSet& set : history.sets) {
    for (const MemoryHistory::Layer& layer : set.layers) in_layers.insert(layer.stack.value);
  }
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const StackUse& use = uses[i];
    const bool is_in_layers = in_layers.erase(use.stack.value) != 0;
    if (!chosen[i] && !is_in_layers) {
      history.other_stacks.add(use);
      ++history.other_stack_count;
      continue;
    }
    StackMemory& memory = history.stacks.emplace_back();
    memory.add(use);
    const std::uint16_t api = sources.use.stacks()[use.stack.value].api;
    memory.stack = stack_as(StackRole::kAllocated, use.stack, sources.names.api_name(api));
  }
  // Those of tensors, which hold no device memory of their own
  for (const MemoryHistory::LayerSet& set : history.sets) {
    for (const MemoryHistory::Layer& layer : set.layers) {
      if (in_layers.erase(layer.stack.value) == 0 || layer.stack.value == 0) continue;
      history.stacks.emplace_back().stack = stack_as(StackRole::kAllocated, layer.stack, {});
    }
  }
}

} // namespace gmt
