// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/history/history_stacks.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>
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

// Those that made most of the tensors that were alive at their peak.
void add_tensor_stacks(const TensorUse& tensors, std::size_t most, MemoryHistory& history) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> held; // bytes, stack
  for (const auto& [stack, use] : tensors.stacks()) {
    if (const std::uint64_t bytes = tensors.bytes_at_peak(use); bytes != 0)
      held.emplace_back(bytes, stack);
  }
  std::ranges::sort(held, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::unordered_map<std::uint32_t, std::size_t> rows;
  for (std::size_t i = 0; i < history.stacks.size(); ++i)
    rows.emplace(history.stacks[i].stack.stack.value, i);
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto& [bytes, stack] = held[i];
    const auto row = rows.find(stack);
    if (row != rows.end()) {
      history.stacks[row->second].tensor_peak_bytes = bytes;
    } else if (i < most && stack != 0) {
      StackMemory& added = history.stacks.emplace_back();
      added.stack = stack_as(StackRole::kAllocated, StackId{stack}, {});
      added.tensor_peak_bytes = bytes;
    } else {
      history.other_stacks.tensor_peak_bytes += bytes;
      ++history.other_stack_count;
    }
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
  add_tensor_stacks(sources.use.tensors(), most, history);
}

} // namespace gmt
