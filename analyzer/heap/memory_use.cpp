// SPDX-License-Identifier: Apache-2.0
// The sums that are asked for now and then; what each event changes is in the header.

#include "analyzer/heap/memory_use.h"

#include <algorithm>

namespace gmt {

void MemoryUse::make_room(StackId id) { stacks_.resize(id.value + std::size_t{1}); }

void MemoryUse::grew(const Block& block, std::uint64_t more, std::uint64_t order) {
  Device& device = device_of(block);
  KindSums& memory_kind = device.memory_kinds[static_cast<std::size_t>(block.memory_kind)];
  memory_kind.allocated_bytes += more;
  memory_kind.live_bytes += more;
  memory_kind.peak_bytes = std::max(memory_kind.peak_bytes, memory_kind.live_bytes);
  Stack& stack = stack_of(block.allocated);
  stack.allocated_bytes += more;
  if (!is_device_memory(block)) return;
  device.live_bytes += more;
  device.peak_bytes = std::max(device.peak_bytes, device.live_bytes);
  sum_.grow(stack, more, order);
  report(block, device, static_cast<std::int64_t>(more));
}

void MemoryUse::describe_context(std::uint16_t id, int device) {
  if (slots_.size() <= id) slots_.resize(id + std::size_t{1}, kUnset);
  if (slots_[id] != kUnset) return; // a block ends where it was allocated
  slots_[id] = static_cast<std::uint8_t>(device < 0 ? 0 : at_number(device));
}

std::size_t MemoryUse::introduce(int number) {
  const auto i = static_cast<std::size_t>(number);
  if (by_number_.size() <= i) by_number_.resize(i + 1, kUnset);
  const bool has_room = devices_.size() != kUnset;
  by_number_[i] = static_cast<std::uint8_t>(has_room ? devices_.size() : 0);
  if (has_room) devices_.emplace_back().number = number;
  return by_number_[i];
}

MemoryUse::Device& MemoryUse::without_device(const Block& block) {
  if (slots_.size() <= block.context) slots_.resize(block.context + std::size_t{1}, kUnset);
  slots_[block.context] = 0;
  return devices_[0];
}

} // namespace gmt
