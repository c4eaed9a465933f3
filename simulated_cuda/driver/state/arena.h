// SPDX-License-Identifier: Apache-2.0
// The address-space manager of one simulated device: first fit over one flat range, with coalescing
// of neighbouring holes, so that addresses come back as on a real allocator and a hole that is too
// small does not serve. Offsets and sizes are multiples of kGranule. Not thread-safe: the driver
// lock is held. Invariant: holes are never neighbours; by_class_ holds exactly the holes of holes_.
// Nodes come from a private resource, not from malloc, so that a free inside a signal handler
// cannot meet a malloc lock that is already held.
#pragma once

#include <cstddef>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <vector>

namespace gmt::sim {

inline constexpr std::size_t kGranule = 512;

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

class Arena {
public:
  Arena(std::size_t capacity, std::pmr::memory_resource* nodes);

  std::optional<std::size_t> take(std::size_t bytes, std::size_t alignment);
  void give(std::size_t offset, std::size_t bytes);

  std::size_t capacity() const { return capacity_; }
  std::size_t free_bytes() const { return free_bytes_; }

private:
  static constexpr std::size_t kClasses = 48;
  using Holes = std::pmr::map<std::size_t, std::size_t>; // offset -> size

  std::optional<std::size_t> first_fit(std::size_t bytes) const;
  std::optional<std::size_t> first_aligned_fit(std::size_t bytes, std::size_t alignment) const;
  void add_hole(std::size_t offset, std::size_t bytes);
  void remove_hole(Holes::iterator hole);

  std::size_t capacity_;
  std::size_t free_bytes_ = 0;
  Holes holes_;
  // Offsets of the holes of 2^k to 2^(k+1)-1 granules
  std::pmr::vector<std::pmr::set<std::size_t>> by_class_;
};

} // namespace gmt::sim
