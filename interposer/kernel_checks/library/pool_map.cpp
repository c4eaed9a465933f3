// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/pool_map.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace gmt::interposer::kernel_checks {

void RangeSet::add(std::uint64_t begin, std::uint64_t end) {
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin() && std::prev(at)->second >= begin) --at;
  while (at != ranges_.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = ranges_.erase(at);
  }
  ranges_.emplace(begin, end);
}

void RangeSet::remove(std::uint64_t begin, std::uint64_t end) {
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin() && std::prev(at)->second > begin) --at;
  while (at != ranges_.end() && at->first < end) {
    const auto [from, to] = *at;
    at = ranges_.erase(at);
    if (from < begin) ranges_.emplace(from, begin);
    if (to > end) ranges_.emplace(end, to);
  }
}

// ---- regions

std::vector<Region> PoolMap::take(std::uint64_t begin, std::uint64_t end) {
  std::vector<Region> taken;
  auto at = regions_.upper_bound(begin);
  if (at != regions_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != regions_.end() && at->first < end) {
    taken.push_back(at->second);
    at = regions_.erase(at);
  }
  return taken;
}

void PoolMap::own(std::uint64_t begin, std::uint64_t end) { owned_.add(begin, end); }

std::vector<Region> PoolMap::disown(std::uint64_t begin, std::uint64_t end) {
  owned_.remove(begin, end);
  given_back_.remove(begin, end);
  return take(begin, end);
}

std::vector<Region> PoolMap::give_out(const Region& region) {
  std::vector<Region> replaced = take(region.begin, region.end);
  for (const Region& old : replaced) given_back_.add(old.begin, old.end);
  given_back_.remove(region.begin, region.end);
  regions_.emplace(region.begin, region);
  return replaced;
}

std::optional<Region> PoolMap::give_back(std::uint64_t begin) {
  const auto found = regions_.find(begin);
  if (found == regions_.end()) return std::nullopt;
  const Region region = found->second;
  regions_.erase(found);
  given_back_.add(region.begin, region.end);
  return region;
}

std::vector<Region> PoolMap::give_all_back(std::uint64_t begin, std::uint64_t end) {
  std::vector<Region> taken = take(begin, end);
  for (const Region& region : taken) given_back_.add(region.begin, region.end);
  return taken;
}

void PoolMap::take_over(const PoolMap& other, std::uint64_t begin, std::uint64_t end) {
  disown(begin, end);
  other.owned_.for_each(begin, end, [this](auto from, auto to) { owned_.add(from, to); });
  other.given_back_.for_each(begin, end, [this](auto from, auto to) { given_back_.add(from, to); });
  for (const auto& [at, region] : other.regions_) {
    if (region.begin >= begin && region.end <= end) regions_.emplace(at, region);
  }
}

std::vector<Region> PoolMap::regions() const {
  std::vector<Region> all;
  for (const auto& [begin, region] : regions_) all.push_back(region);
  return all;
}

// ---- entries

namespace {

// The granules from `first` on, and which slot the last byte of each one is of.
struct Granules {
  std::uint64_t first; // an address
  std::vector<std::int16_t> entries;
  std::vector<std::uint32_t> slots;

  std::size_t index(std::uint64_t address) const { return (address - first) / kGranule; }
  void set_freed(std::uint64_t begin, std::uint64_t end) {
    for (std::size_t i = index(begin); i <= index(end - 1); ++i)
      entries[i] = static_cast<std::int16_t>(rewriter::kFreedEntry);
  }
  void set_valid(std::uint64_t begin, std::uint64_t end, std::uint32_t slot) {
    for (std::size_t i = index(begin); i <= index(end - 1); ++i) {
      const std::uint64_t valid = std::min<std::uint64_t>(end - (first + i * kGranule), kGranule);
      entries[i] = std::max(entries[i], static_cast<std::int16_t>(valid));
      if (valid == kGranule) slots[i] = slot;
    }
  }
};

} // namespace

// One more granule says whether the last one's next is full.
std::vector<std::int16_t> PoolMap::entries(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t first = begin / kGranule * kGranule;
  const std::size_t count = (end - 1 - first) / kGranule + 1;
  const std::uint64_t last = std::min(first + (count + 1) * kGranule, block_.end);
  Granules granules{first,
                    std::vector<std::int16_t>(count + 1, std::int16_t{rewriter::kPoisonEntry}),
                    std::vector<std::uint32_t>(count + 1, kNoSlot)};
  RangeSet no_pools;
  no_pools.add(first, last);
  owned_.for_each(first, last, [&](auto from, auto to) { no_pools.remove(from, to); });
  given_back_.for_each(first, last, [&](auto from, auto to) {
    no_pools.remove(from, to);
    granules.set_freed(from, to);
  });
  no_pools.for_each(first, last, [&](auto from, auto to) { granules.set_valid(from, to, slot_); });
  auto region = regions_.upper_bound(first);
  if (region != regions_.begin()) --region;
  for (; region != regions_.end() && region->first < last; ++region) {
    const std::uint64_t from = std::max(first, region->first);
    const std::uint64_t to = std::min(last, region->second.end);
    if (from < to) granules.set_valid(from, to, region->second.slot);
  }
  constexpr auto kFull = static_cast<std::int16_t>(kGranule);
  for (std::size_t i = 0; i < count; ++i) {
    if (granules.entries[i] != kFull || granules.entries[i + 1] != kFull) continue;
    const auto slot = static_cast<std::int32_t>(granules.slots[i]);
    granules.entries[i] = static_cast<std::int16_t>(rewriter::kFirstBlock + slot);
  }
  granules.entries.resize(count);
  return granules.entries;
}

} // namespace gmt::interposer::kernel_checks
