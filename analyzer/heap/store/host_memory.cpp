// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/store/host_memory.h"

#include <iterator>

namespace gmt {

void HostMemory::add(std::uint64_t begin, std::uint64_t bytes) {
  if (bytes == 0 || begin + bytes < begin) return;
  remove(begin, bytes);
  if (ranges_.size() < kMostRanges) ranges_.emplace(begin, begin + bytes);
}

void HostMemory::remove(std::uint64_t begin, std::uint64_t bytes) {
  const std::uint64_t end = begin + bytes < begin ? UINT64_MAX : begin + bytes;
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < end) {
    const auto [first, last] = *at;
    if (last <= begin) {
      ++at;
      continue;
    }
    at = ranges_.erase(at);
    if (first < begin) ranges_.emplace(first, begin);
    if (last > end) at = ranges_.emplace(end, last).first;
  }
}

bool HostMemory::covers(std::uint64_t address) const {
  const auto behind = ranges_.upper_bound(address);
  return behind != ranges_.begin() && address < std::prev(behind)->second;
}

} // namespace gmt
