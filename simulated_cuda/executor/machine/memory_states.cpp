// SPDX-License-Identifier: Apache-2.0
// What memory.h says of the states of bytes, without a change of what is allocated: which are
// written, how copies carry that along, and where kernels stored what nothing had written.
#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/machine/memory.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

namespace gmt::executor {
namespace {

constexpr std::size_t kWordBytes = 4;
constexpr unsigned kAllocatedBit = 1;
constexpr unsigned kInitializedBit = 0x10;

unsigned state_bits(const Region& region, std::uint64_t address) {
  const std::uint64_t offset = address - region.base;
  return (unsigned{shadow_at(region.shadow + offset / kWordBytes)} >> (offset % kWordBytes)) &
         0x11u;
}

// From an address on: bytes of whole words whose shadow has one value, eight words at a time.
std::uint64_t bytes_in_state(const Region& region, std::uint64_t address, std::uint64_t stop,
                             std::uint8_t wanted) {
  const std::uint64_t offset = address - region.base;
  if (offset % kWordBytes != 0) return 0;
  const std::uint8_t* shadow = region.shadow + offset / kWordBytes;
  const std::uint64_t words = (stop - address) / kWordBytes;
  const std::uint64_t eight = 0x0101010101010101ull * wanted;
  std::uint64_t i = 0;
  for (std::uint64_t now; i + 8 <= words; i += 8) {
    std::memcpy(&now, shadow + i, 8);
    if (now != eight) break;
  }
  while (i < words && shadow[i] == wanted) ++i;
  return i * kWordBytes;
}

} // namespace

void Memory::copy_state(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  const Region* source = find(from);
  Region* target = find(to);
  if (source == nullptr || target == nullptr) return;
  bytes = std::min({bytes, source->base + source->bytes - from, target->base + target->bytes - to});
  if ((to - target->base) % kWordBytes == 0 && (from - source->base) % kWordBytes == 0 &&
      bytes >= kWordBytes) {
    const std::uint64_t words = bytes / kWordBytes;
    std::uint8_t* d = target->shadow + (to - target->base) / kWordBytes;
    const std::uint8_t* s = source->shadow + (from - source->base) / kWordBytes;
    const bool backwards = d > s;
    for (std::uint64_t k = 0; k < words; ++k) {
      const std::uint64_t i = backwards ? words - 1 - k : k;
      const unsigned allocated = d[i] & 0x0fu;
      const unsigned initialized = (s[i] >> 4) & allocated;
      if (allocated != 0) d[i] = static_cast<std::uint8_t>(allocated | initialized << 4);
    }
    to += words * kWordBytes;
    from += words * kWordBytes;
    bytes -= words * kWordBytes;
  }
  std::vector<bool> initialized(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i)
    initialized[i] = (state_bits(*source, from + i) & kInitializedBit) != 0;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (initialized[i]) mark_initialized(to + i, 1);
    else mark_uninitialized(to + i, 1);
  }
}

ByteState Memory::state(std::uint64_t address) const {
  const Region* region = region_of(address);
  if (region == nullptr) return ByteState::kNothing;
  const unsigned bits = state_bits(*region, address);
  if ((bits & kAllocatedBit) == 0) return bits == 0 ? ByteState::kNothing : ByteState::kFreed;
  return (bits & kInitializedBit) != 0 ? ByteState::kInitialized : ByteState::kUninitialized;
}

std::uint64_t Memory::first_uninitialized(std::uint64_t address, std::uint64_t bytes) const {
  const std::uint64_t end = address + bytes;
  while (address < end) {
    const Region* region = region_of(address);
    if (region == nullptr) return address;
    const std::uint64_t stop = std::min(end, region->base + region->bytes);
    for (; address < stop; ++address) {
      address += bytes_in_state(*region, address, stop, 0xff);
      if (address >= stop) break;
      if (state_bits(*region, address) != (kAllocatedBit | kInitializedBit)) return address;
    }
  }
  return end;
}

std::uint64_t Memory::first_initialized(std::uint64_t address, std::uint64_t bytes) const {
  const std::uint64_t end = address + bytes;
  while (address < end) {
    const Region* region = region_of(address);
    if (region == nullptr) return end;
    const std::uint64_t stop = std::min(end, region->base + region->bytes);
    for (; address < stop; ++address) {
      address += bytes_in_state(*region, address, stop, 0x0f);
      if (address >= stop) break;
      if ((state_bits(*region, address) & kInitializedBit) != 0) return address;
    }
  }
  return end;
}

void Memory::note_moved(std::uint64_t address, std::uint64_t bytes) {
  constexpr std::size_t kMostRanges = 1 << 16;
  const std::lock_guard lock(moved_mutex_);
  std::uint64_t end = address + bytes;
  auto at = moved_.upper_bound(address);
  if (at != moved_.begin() && std::prev(at)->second >= address) --at;
  for (; at != moved_.end() && at->first <= end; at = moved_.erase(at)) {
    address = std::min(address, at->first);
    end = std::max(end, at->second);
  }
  if (moved_.size() < kMostRanges) moved_.emplace(address, end);
}

bool Memory::has_moved(std::uint64_t address, std::uint64_t bytes) const {
  const std::lock_guard lock(moved_mutex_);
  const auto after = moved_.lower_bound(address + bytes);
  return after != moved_.begin() && std::prev(after)->second > address;
}

void Memory::forget_moved(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(moved_mutex_);
  if (moved_.empty()) return;
  const std::uint64_t end = address + bytes;
  auto at = moved_.upper_bound(address);
  if (at != moved_.begin() && std::prev(at)->second > address) --at;
  while (at != moved_.end() && at->first < end) {
    const auto [from, to] = *at;
    at = moved_.erase(at);
    if (from < address) moved_.emplace(from, address);
    if (to > end) moved_.emplace(end, to);
  }
}

} // namespace gmt::executor
