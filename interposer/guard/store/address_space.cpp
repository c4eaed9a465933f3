// SPDX-License-Identifier: Apache-2.0
// The tables are large and mostly never written: mapped without a reserve of memory, they cost
// nothing until then.
#include "interposer/guard/store/address_space.h"

#include <sys/mman.h>

namespace gmt::interposer {

namespace {

constexpr std::uint32_t kMostLookedAt = 4096; // a search must not take milliseconds

void* map_table(std::size_t bytes) noexcept {
  void* table = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return table != MAP_FAILED ? table : nullptr;
}

} // namespace

bool AddressSpace::begin(std::uint64_t units) noexcept {
  if (units < 2 || units > UINT32_MAX) return false;
  owners_ = static_cast<std::uint32_t*>(map_table(units * sizeof *owners_));
  resting_ = static_cast<AddressRange*>(map_table(kMostResting * sizeof *resting_));
  units_ = static_cast<std::uint32_t>(units);
  next_ = 1;
  oldest_ = count_ = 0;
  reused_ = 0;
  if (owners_ != nullptr && resting_ != nullptr) return true;
  end();
  return false;
}

void AddressSpace::end() noexcept {
  if (owners_ != nullptr) munmap(owners_, units_ * sizeof *owners_);
  if (resting_ != nullptr) munmap(resting_, kMostResting * sizeof *resting_);
  owners_ = nullptr;
  resting_ = nullptr;
}

AddressRange AddressSpace::take(std::uint64_t units) noexcept {
  if (units == 0 || units >= units_) return {};
  const auto wanted = static_cast<std::uint32_t>(units);
  if (wanted <= units_ - next_) {
    const AddressRange range{next_, wanted};
    next_ += wanted;
    return range;
  }
  for (std::uint32_t i = 0; i < count_ && i < kMostLookedAt; ++i) {
    AddressRange& old = resting(i);
    if (old.units < wanted) continue;
    const AddressRange range{old.first, wanted};
    old.first += wanted;
    old.units -= wanted;
    while (count_ != 0 && resting(0).units == 0) { // those used up in the middle wait for it
      oldest_ = (oldest_ + 1) % kMostResting;
      --count_;
    }
    ++reused_;
    return range;
  }
  return {};
}

void AddressSpace::give(AddressRange range) noexcept {
  if (range.units == 0) return;
  if (count_ != 0) { // a neighbour that was freed just before: one larger range
    AddressRange& last = resting(count_ - 1);
    if (last.units != 0 && last.first + last.units == range.first) {
      last.units += range.units;
      return;
    }
  }
  if (count_ == kMostResting) return; // its addresses are not used again
  resting(count_++) = range;
}

void AddressSpace::give_unused(AddressRange range) noexcept {
  if (range.first + range.units == next_) next_ = range.first;
  else give(range);
}

void AddressSpace::set_owner(AddressRange range, std::uint32_t block) noexcept {
  for (std::uint32_t unit = range.first; unit != range.first + range.units; ++unit)
    owners_[unit] = block;
}

} // namespace gmt::interposer
