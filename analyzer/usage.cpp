// SPDX-License-Identifier: Apache-2.0
// The parts of usage.h that are not on the way of every event.

#include "analyzer/usage.h"

#include <algorithm>

namespace gmt {

void MemoryUse::describe_context(std::uint16_t id, int device) {
  if (places_.size() <= id) places_.resize(id + std::size_t{1}, kUnset);
  if (places_[id] != kUnset) return; // blocks must die where they were born
  auto at = std::ranges::find(devices_, device, &Device::number);
  if (at == devices_.end()) {
    if (devices_.size() == kUnset) return;
    at = devices_.emplace(at);
    at->number = device;
  }
  places_[id] = static_cast<std::uint8_t>(at - devices_.begin());
}

MemoryUse::Device& MemoryUse::without_device(const Block& block) {
  if (places_.size() <= block.context) places_.resize(block.context + std::size_t{1}, kUnset);
  places_[block.context] = 0;
  return devices_[0];
}

} // namespace gmt
