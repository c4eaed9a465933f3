// SPDX-License-Identifier: Apache-2.0
// The parts of memory_use.h that are not on the way of every event.

#include "analyzer/heap/memory_use.h"

#include <algorithm>

namespace gmt {
namespace {

struct Place {
  enum class Kind : std::uint8_t { kDevice, kPinned, kPageable };
  Kind kind = Kind::kDevice;
  int device = kNoDevice;

  bool is_host() const { return kind != Kind::kDevice; }
};

// cudaMemcpyKind as the runtime's call declared it: 1 and 0 read host memory, 2 and 0 write to it.
bool declares_device(const Event& e, bool destination) {
  const trace::Side declared = destination ? trace::destination_side(e.flags) : trace::source_side(e.flags);
  if (declared != trace::Side::kUnified) return declared != trace::Side::kHost;
  const unsigned kind = trace::declared_kind_plus_1(e.flags); // cudaMemcpyDefault (4) leaves it to the address
  return kind == 4 || kind == (destination ? 2 : 3);
}

Place place_of(const Event& e, const Heap& heap, bool destination) {
  const auto access = destination ? Touch::Access::kWrite : Touch::Access::kRead;
  for (const Touch& touch : heap.touched()) {
    if (touch.access != access) continue;
    const trace::Family family = touch.block->family;
    if (is_host_family(family)) return {.kind = Place::Kind::kPinned};
    return {.device = heap.device_of(*touch.block)};
  }
  return {.kind = declares_device(e, destination) ? Place::Kind::kDevice : Place::Kind::kPageable};
}

} // namespace

void CopyUse::add(const Event& e, const Heap& heap) {
  if (!e.succeeded() || (e.flags & (trace::kFlagNested | trace::kFlagRuntime)) != 0) return;
  const Place to = place_of(e, heap, true), from = place_of(e, heap, false);
  const bool peers = to.device != kNoDevice && from.device != kNoDevice && to.device != from.device;
  const Direction direction = from.is_host() ? (to.is_host() ? kHostToHost : kHostToDevice)
                              : to.is_host() ? kDeviceToHost
                              : peers        ? kPeer
                                             : kDeviceToDevice;
  Sum& sum = sums_[direction];
  ++sum.copies;
  const std::uint64_t bytes = trace::CopyView(e).bytes();
  sum.bytes += bytes;
  if (to.kind == Place::Kind::kPageable || from.kind == Place::Kind::kPageable) sum.pageable_bytes += bytes;
}

void MemoryUse::grew(const Block& block, std::uint64_t more, std::uint64_t order) {
  Device& device = device_of(block);
  Family& family = device.families[static_cast<std::size_t>(block.family)];
  family.allocated_bytes += more;
  family.live_bytes += more;
  family.peak_bytes = std::max(family.peak_bytes, family.live_bytes);
  Stack& stack = stack_of(block.allocated);
  stack.allocated_bytes += more;
  if (!is_device_memory(block)) return;
  remember(stack);
  stack.bytes += more;
  device.live_bytes += more;
  device.peak_bytes = std::max(device.peak_bytes, device.live_bytes);
  live_bytes_ += more;
  if (live_bytes_ <= peak_bytes_) return;
  peak_bytes_ = live_bytes_;
  peak_order_ = order;
  ++peak_number_;
}

void MemoryUse::describe_context(std::uint16_t id, int device) {
  if (places_.size() <= id) places_.resize(id + std::size_t{1}, kUnset);
  if (places_[id] != kUnset) return; // blocks must die where they were born
  places_[id] = static_cast<std::uint8_t>(device < 0 ? 0 : at_number(device));
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
  if (places_.size() <= block.context) places_.resize(block.context + std::size_t{1}, kUnset);
  places_[block.context] = 0;
  return devices_[0];
}

} // namespace gmt
