// SPDX-License-Identifier: Apache-2.0
// Where fenced blocks lie: one reservation of addresses that is handed out from its beginning to
// its end, and only then again, the addresses that have rested longest first. So what was freed
// stays unmapped as long as the reservation allows. Counted in units of 2 MiB; nothing here calls
// CUDA. Not thread-safe: its owner holds a lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::interposer {

inline constexpr std::uint64_t kGuardUnit = 2 << 20;
constexpr std::uint64_t units_for(std::uint64_t bytes) noexcept {
  return bytes / kGuardUnit + (bytes % kGuardUnit != 0 ? 1 : 0);
}

// A part of the reservation, in units from its beginning. None if it has no units.
struct AddressRange {
  std::uint32_t first = 0;
  std::uint32_t units = 0;
};

class AddressSpace {
public:
  // Memory of its own for `units`; false if there is none. The first unit is never handed out: it
  // lies in front of the first block.
  bool begin(std::uint64_t units) noexcept;
  void end() noexcept; // gives its memory back

  AddressRange take(std::uint64_t units) noexcept;
  void give(AddressRange range) noexcept;
  // A range that was taken and never used rests nowhere: the next one gets it, if nothing followed.
  void give_unused(AddressRange range) noexcept;

  std::uint64_t reused() const noexcept { return reused_; } // ranges that were handed out again

  // Which block has a unit: 0 for none. Kept for lookups by address.
  std::uint32_t owner(std::uint32_t unit) const noexcept { return owners_[unit]; }
  void set_owner(AddressRange range, std::uint32_t block) noexcept;

private:
  static constexpr std::uint32_t kMostResting = 1 << 20;
  AddressRange& resting(std::uint32_t i) noexcept { return resting_[(oldest_ + i) % kMostResting]; }

  std::uint32_t* owners_ = nullptr;
  AddressRange* resting_ = nullptr; // a ring, the oldest first
  std::uint32_t oldest_ = 0, count_ = 0;
  std::uint32_t next_ = 0, units_ = 0;
  std::uint64_t reused_ = 0;
};

} // namespace gmt::interposer
