// SPDX-License-Identifier: Apache-2.0
// Between the device's clock and the host's: how far they are apart, and which block an address
// meant at a time of the host's.

#include <algorithm>
#include <utility>

#include "analyzer/device_heap/device_heap.h"
#include "analyzer/device_heap/graph_launches.h"

namespace gmt {

// What a drain found had been recorded before.
void DeviceHeap::compare_clocks(std::uint64_t host_time) {
  if (host_time == 0 || newest_ == 0) return;
  clock_offset_ = std::min(clock_offset_, static_cast<std::int64_t>(host_time - newest_));
}

std::uint64_t DeviceHeap::host_time(std::uint64_t device_time) const {
  if (device_time == 0 || clock_offset_ == INT64_MAX) return device_time;
  return device_time + static_cast<std::uint64_t>(clock_offset_);
}

template <class Visit> void DeviceHeap::for_each_at(std::uint64_t address, Visit visit) const {
  if (const auto range = live_.find(address)) visit(blocks_[range.value]);
  for (std::size_t i = 0; i < freed_.size(); ++i) { // the newest first
    const DeviceBlock& block = freed_[(next_freed_ + freed_.size() - 1 - i) % freed_.size()];
    if (address >= block.address && address < end_of(block)) visit(block);
  }
}

const DeviceBlock* DeviceHeap::find(std::uint64_t address, std::uint64_t time) const {
  const DeviceBlock* best = nullptr;
  // Whether it surely came later, else how far its life is from that time
  std::pair<bool, std::uint64_t> least;
  for_each_at(address, [&](const DeviceBlock& block) {
    const std::uint64_t begin = host_time(block.allocated.time),
                        end = block.is_freed ? host_time(block.freed.time) : UINT64_MAX;
    const bool is_later = time != 0 && begin > time + kDeviceClockError;
    std::uint64_t apart = 0;
    if (time != 0 && !is_later) apart = begin > time ? begin - time : time - std::min(time, end);
    const std::pair distance{is_later, apart};
    if (best != nullptr && distance >= least) return;
    best = &block;
    least = distance;
  });
  return best;
}

} // namespace gmt
