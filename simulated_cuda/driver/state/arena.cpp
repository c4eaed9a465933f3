// SPDX-License-Identifier: Apache-2.0
// First fit in logarithmic time: a hole of a higher size class than the request always serves, so
// only the lowest offset of each such class and the class of the request itself have to be looked
// at.
#include "simulated_cuda/driver/state/arena.h"

#include <bit>

namespace gmt::sim {
namespace {

std::size_t class_of(std::size_t bytes) {
  return static_cast<std::size_t>(std::bit_width(bytes / kGranule)) - 1;
}

} // namespace

Arena::Arena(std::size_t capacity, std::pmr::memory_resource* nodes)
    : capacity_(capacity / kGranule * kGranule), holes_(nodes), by_class_(nodes) {
  by_class_.resize(kClasses);
  add_hole(0, capacity_);
}

std::optional<std::size_t> Arena::first_fit(std::size_t bytes) const {
  const std::size_t own = class_of(bytes);
  std::optional<std::size_t> best;
  for (std::size_t offset : by_class_[own]) {
    if (holes_.find(offset)->second >= bytes) {
      best = offset;
      break;
    }
  }
  for (std::size_t k = own + 1; k < kClasses; ++k) {
    if (!by_class_[k].empty() && (!best || *by_class_[k].begin() < *best))
      best = *by_class_[k].begin();
  }
  return best;
}

std::optional<std::size_t> Arena::first_aligned_fit(std::size_t bytes,
                                                    std::size_t alignment) const {
  for (const auto& [offset, size] : holes_) {
    const std::size_t start = round_up(offset, alignment);
    if (start + bytes <= offset + size) return start;
  }
  return std::nullopt;
}

std::optional<std::size_t> Arena::take(std::size_t bytes, std::size_t alignment) {
  if (bytes == 0 || bytes > capacity_) return std::nullopt;
  bytes = round_up(bytes, kGranule);
  const auto start = alignment <= kGranule ? first_fit(bytes) : first_aligned_fit(bytes, alignment);
  if (!start) return std::nullopt;
  auto hole = std::prev(holes_.upper_bound(*start));
  const std::size_t hole_offset = hole->first;
  const std::size_t hole_end = hole_offset + hole->second;
  remove_hole(hole);
  if (*start > hole_offset) add_hole(hole_offset, *start - hole_offset);
  if (*start + bytes < hole_end) add_hole(*start + bytes, hole_end - *start - bytes);
  return start;
}

void Arena::give(std::size_t offset, std::size_t bytes) {
  bytes = round_up(bytes, kGranule);
  auto next = holes_.lower_bound(offset);
  if (next != holes_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      bytes += previous->second;
      remove_hole(previous);
    }
  }
  if (next != holes_.end() && offset + bytes == next->first) {
    bytes += next->second;
    remove_hole(next);
  }
  add_hole(offset, bytes);
}

void Arena::add_hole(std::size_t offset, std::size_t bytes) {
  holes_.emplace(offset, bytes);
  by_class_[class_of(bytes)].insert(offset);
  free_bytes_ += bytes;
}

void Arena::remove_hole(Holes::iterator hole) {
  by_class_[class_of(hole->second)].erase(hole->first);
  free_bytes_ -= hole->second;
  holes_.erase(hole);
}

} // namespace gmt::sim
