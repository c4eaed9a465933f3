// SPDX-License-Identifier: Apache-2.0
// Turns the heap's sums into the report's tables, see memory_tables.h.

#include "analyzer/analysis/memory_tables.h"

#include <algorithm>
#include <tuple>

#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/heap/copy_use.h"
#include "analyzer/heap/memory_use.h"

namespace gmt {
namespace {

void add_memory_kinds(const MemoryUse& use, MemoryTables& tables) {
  for (const MemoryUse::Device& device : use.devices()) {
    for (std::size_t i = 0; i < device.memory_kinds.size(); ++i) {
      const MemoryUse::KindSums& sum = device.memory_kinds[i];
      const auto memory_kind = static_cast<trace::MemoryKind>(i);
      const bool is_shown = can_leak(memory_kind) || memory_kind == trace::MemoryKind::kTensor;
      if (sum.allocations == 0 || !is_shown) continue; // static variables are looked up only
      tables.memory_kinds.push_back({.memory_kind = std::string(memory_noun(memory_kind)),
                                     .device = device.number,
                                     .allocations = sum.allocations,
                                     .allocated_bytes = sum.allocated_bytes,
                                     .frees = sum.frees,
                                     .live_blocks = sum.live_blocks,
                                     .live_bytes = sum.live_bytes,
                                     .peak_bytes = sum.peak_bytes});
    }
    if (device.peak_bytes != 0) {
      tables.devices.push_back({device.number, device.peak_bytes, device.live_bytes});
    }
  }
  std::ranges::stable_sort(tables.devices, {}, &MemoryTables::Device::device);
  std::ranges::stable_sort(tables.memory_kinds, [](const auto& a, const auto& b) { // devices first
    return std::tuple(a.device == kNoDevice, a.device) <
           std::tuple(b.device == kNoDevice, b.device);
  });
}

void add_copies(const CopyUse& copies, MemoryTables& tables) {
  static constexpr const char* kNames[] = {"host to device", "device to host", "device to device",
                                           "device to another device", "host to host"};
  for (std::size_t i = 0; i < CopyUse::kDirections; ++i) {
    const CopyUse::Sum& sum = copies.sums()[i];
    if (sum.copies != 0)
      tables.copies.push_back({kNames[i], sum.copies, sum.bytes, sum.pageable_bytes});
  }
}

void add_holders(const MemoryUse& use, const TraceNames& names, MemoryTables& tables) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < use.stacks().size(); ++i) {
    if (use.bytes_at_peak(use.stacks()[i]) != 0) order.push_back(i);
  }
  const auto bytes = [&use](std::uint32_t i) { return use.bytes_at_peak(use.stacks()[i]); };
  std::ranges::stable_sort(order, std::ranges::greater{}, bytes);
  for (const std::uint32_t i : order) {
    if (tables.holders.size() == kMaxHolders) {
      ++tables.other_holders;
      tables.other_bytes += bytes(i);
      continue;
    }
    const MemoryUse::Stack& stack = use.stacks()[i];
    tables.holders.push_back({bytes(i), use.blocks_at_peak(stack), {}});
    tables.holders.back().stack =
      stack_as(StackRole::kAllocated, StackId{i}, names.api_name(stack.api));
  }
}

void add_tensors(const TensorUse& use, const TraceNames& names, MemoryTables::Tensors& tensors) {
  tensors.peak_bytes = use.peak_bytes();
  tensors.live_bytes = use.live_bytes();
  tensors.live_blocks = use.live_blocks();
  std::vector<std::uint32_t> order;
  for (const auto& [id, stack] : use.stacks()) {
    tensors.allocations += stack.allocations;
    if (use.bytes_at_peak(stack) != 0) order.push_back(id);
  }
  const auto key = [&use](std::uint32_t i) {
    return std::tuple(~use.bytes_at_peak(use.stacks().at(i)), i);
  };
  std::ranges::sort(order, {}, key);
  for (const std::uint32_t i : order) {
    const TensorUse::Stack& stack = use.stacks().at(i);
    if (tensors.holders.size() == kMaxTensorStacks) {
      ++tensors.other_holders;
      tensors.other_bytes += use.bytes_at_peak(stack);
      continue;
    }
    tensors.holders.push_back({use.bytes_at_peak(stack), use.blocks_at_peak(stack), {}});
    tensors.holders.back().stack =
      stack_as(StackRole::kAllocated, StackId{i}, names.api_name(stack.api));
  }
}

} // namespace

MemoryTables memory_tables(const Heap& heap, const CopyUse& copies, const TraceNames& names) {
  MemoryTables tables;
  add_memory_kinds(heap.use(), tables);
  add_copies(copies, tables);
  add_holders(heap.use(), names, tables);
  add_tensors(heap.use().tensors(), names, tables.tensors);
  return tables;
}

std::vector<StackUse> use_by_stack(const Heap& heap) {
  const MemoryUse& use = heap.use();
  std::vector<StackUse> uses(use.stacks().size());
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    const MemoryUse::Stack& stack = use.stacks()[i];
    uses[i] = {StackId{i}, stack.allocations, stack.allocated_bytes, use.bytes_at_peak(stack), 0};
  }
  heap.for_each_live([&](const Block& block) {
    if (can_leak(block.memory_kind) && has_memory(block))
      uses[block.allocated.value].live_bytes += block.bytes;
  });
  std::erase_if(uses, [](const StackUse& u) { return u.allocations == 0; });
  return uses;
}

} // namespace gmt
