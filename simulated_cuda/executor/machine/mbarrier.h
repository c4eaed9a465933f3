// SPDX-License-Identifier: Apache-2.0
// An mbarrier: an object of 64 bits in shared memory, as the simulated device lays it out (PTX
// leaves that open). Bits 0 to 19 are the arrivals that its phase still waits for, bits 20 to 39
// those that each phase waits for, bits 40 to 60 the bytes of asynchronous copies that its phase
// waits for (less than 0: they came before they were announced), and the highest bit is the phase's
// parity. A phase is over when it waits for no arrival and no byte.
#pragma once

#include <cstdint>

namespace gmt::executor {

struct Block;

struct Mbarrier {
  static constexpr std::uint32_t kCountBits = 20, kBytesBits = 21, kPhaseShift = 63;
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;
  static constexpr std::uint64_t kBytesMask = (std::uint64_t{1} << kBytesBits) - 1;

  std::uint32_t pending = 0, expected = 0;
  std::int32_t bytes = 0;
  std::uint32_t phase = 0;

  Mbarrier() = default;
  explicit Mbarrier(std::uint64_t value)
      : pending(static_cast<std::uint32_t>(value & kCountMask)),
        expected(static_cast<std::uint32_t>(value >> kCountBits & kCountMask)),
        bytes(static_cast<std::int32_t>((value >> 2 * kCountBits & kBytesMask) ^
                                        std::uint64_t{1} << (kBytesBits - 1)) -
              (1 << (kBytesBits - 1))),
        phase(static_cast<std::uint32_t>(value >> kPhaseShift)) {}
  std::uint64_t value() const {
    return std::uint64_t{phase} << kPhaseShift |
           (static_cast<std::uint64_t>(bytes) & kBytesMask) << 2 * kCountBits |
           (expected & kCountMask) << kCountBits | (pending & kCountMask);
  }
};

// What an instruction or a copy does to an mbarrier, in this order.
struct MbarrierChange {
  std::int64_t bytes = 0;      // more that are expected; less than 0: so many have come
  std::uint32_t dropped = 0;   // of the arrivals of each later phase
  std::uint32_t announced = 0; // more arrivals in this phase
  std::uint32_t arrivals = 0;
};

// The object at `offset` of the block's shared memory, which is there. Returns what it was before.
std::uint64_t change_mbarrier(Block& block, std::uint64_t offset, const MbarrierChange& change);

} // namespace gmt::executor
