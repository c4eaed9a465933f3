// SPDX-License-Identifier: Apache-2.0
// A tensor map, as the simulated device lays it out in the 128 bytes of a CUtensorMap (CUDA leaves
// that open): where a tensor lies, and which box of it a copy moves. Dimension 0 is the one whose
// elements lie side by side.
#pragma once

#include <cstdint>

namespace gmt::executor {

struct TensorMap {
  static constexpr std::uint32_t kMostRank = 5, kBytes = 128;
  static constexpr std::uint64_t kMagic = 0x31504d54544d4701ull; // else it is no map

  std::uint64_t magic = 0;
  std::uint64_t address = 0;
  std::uint64_t strides[kMostRank] = {}; // bytes; the first is that of an element
  std::uint64_t sizes[kMostRank] = {};   // elements
  std::uint16_t box[kMostRank] = {};     // elements that a copy passes over
  std::uint8_t steps[kMostRank] = {};    // every so many of them is moved
  std::uint8_t rank = 0;
  std::uint8_t element = 0; // bytes
  std::uint8_t type = 0;    // CUtensorMapDataType
  std::uint8_t swizzle = 0; // shared memory: rows of 16 << swizzle bytes are mixed; 0: none
  std::uint8_t fills_with_nan = 0;
};
static_assert(sizeof(TensorMap) <= TensorMap::kBytes);

} // namespace gmt::executor
