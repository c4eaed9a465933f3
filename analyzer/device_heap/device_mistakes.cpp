// SPDX-License-Identifier: Apache-2.0
// Mistakes, refusals and frees elsewhere, equal ones as one, while records are applied. A helper
// function, new and delete are one site for all kernels, so grids are part of what must be equal;
// detectors merge those of one kernel. See device_heap.h.

#include "analyzer/device_heap/device_heap.h"

#include <algorithm>

namespace gmt {
namespace {

using What = DeviceMistake::What;

// How long a malloc may take from the moment it has its memory to its time stamp, while others wait
// too: 27 us were seen on an H200 with 32 callers.
constexpr std::uint64_t kInProgress = 100'000;

} // namespace

// Of the group's entry in a list whose next one is `next`, which a new group gets; none if there
// are too many.
std::optional<std::size_t> DeviceHeap::index_of(Groups& groups, Group group, std::size_t next) {
  if (const auto at = groups.find(group); at != groups.end()) return at->second;
  if (groups.size() >= kMaxGroups) group.grids = {};
  if (const auto at = groups.find(group); at != groups.end()) return at->second;
  if (groups.size() >= 2 * kMaxGroups) return std::nullopt;
  groups.emplace(group, next);
  return next;
}

// A malloc in progress may have got its block before another was refused. Its time is taken when it
// ends, so it is applied after the refusal, though the block was alive then.
void DeviceHeap::settle(const Pending& r) {
  std::erase_if(settling_, [&](std::size_t i) {
    const DeviceCall& first = refusals_[i].first;
    return r.grid != first.grid || r.time > first.time + kInProgress;
  });
  for (const std::size_t i : settling_) {
    refusals_[i].live_bytes = live_bytes_;
    refusals_[i].live_blocks = live_.size();
  }
  if (!settling_.empty()) wanted_bytes_ = std::max(wanted_bytes_, live_bytes_ + refused_bytes_);
}

void DeviceHeap::refuse(const Pending& r) {
  const Group group{.sites = {r.thread.site(), static_cast<std::uint64_t>(r.op), 0, 0},
                    .grids = {r.grid, 0, 0}};
  if (const auto index = index_of(refusal_groups_, group, refusals_.size())) {
    if (*index == refusals_.size()) {
      settling_.push_back(*index);
      refusals_.push_back({.first = r.call(),
                           .asked = r.bytes,
                           .live_bytes = live_bytes_,
                           .live_blocks = live_.size()});
    }
    ++refusals_[*index].count;
    refusals_[*index].bytes += r.bytes;
  }
  if (r.grid != refused_grid_) refused_bytes_ = 0;
  refused_grid_ = r.grid;
  refused_bytes_ += r.bytes;
  wanted_bytes_ = std::max(wanted_bytes_, live_bytes_ + refused_bytes_);
}

void DeviceHeap::note_foreign(const DeviceBlock& block) {
  const DeviceCall &allocated = block.allocated, &freed = block.freed;
  const Group group{.sites = {allocated.thread.site(), freed.thread.site(),
                              allocated.grid != freed.grid, allocated.block != freed.block},
                    .grids = {allocated.grid, freed.grid, 0}};
  const auto index = index_of(foreign_groups_, group, foreign_.size());
  if (!index) return;
  if (*index == foreign_.size()) foreign_.push_back({.example = block});
  ++foreign_[*index].count;
  foreign_[*index].bytes += block.bytes;
}

void DeviceHeap::add(const DeviceMistake& mistake) {
  // Pointers that were never allocated may belong to the host: each is a case of its own.
  const bool by_address = mistake.what == What::kNeverAllocated;
  const DeviceBlock& block = mistake.block;
  const Group group{
    .sites = {static_cast<std::uint64_t>(mistake.what) << 32 | mistake.at.thread.site(),
              by_address ? mistake.address : block.allocated.thread.site(),
              block.is_freed ? block.freed.thread.site() : 0,
              static_cast<std::uint64_t>(mistake.at.op) << 8 |
                static_cast<std::uint64_t>(block.allocated.op)},
    .grids = {mistake.at.grid, block.allocated.grid, block.freed.grid}};
  const auto index = index_of(mistake_groups_, group, mistakes_.size());
  if (!index) return;
  if (*index == mistakes_.size()) {
    mistakes_.push_back(mistake);
    return;
  }
  mistakes_[*index].count += mistake.count;
  mistakes_[*index].bytes += mistake.bytes;
}

void DeviceHeap::add_undecided(const DeviceMistake& mistake) {
  const Group group{.sites = {mistake.at.thread.site(), mistake.address,
                              static_cast<std::uint64_t>(mistake.at.op), 0},
                    .grids = {mistake.at.grid, 0, 0}};
  const auto index = index_of(undecided_groups_, group, undecided_.size());
  if (!index) ++unchecked_;
  else if (*index == undecided_.size()) undecided_.push_back(mistake);
  else ++undecided_[*index].count;
}

} // namespace gmt
