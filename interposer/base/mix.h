// SPDX-License-Identifier: Apache-2.0
// One step of a hash over words.
#pragma once

#include <cstdint>

namespace gmt::interposer {

// `v` is spread before it meets `h`: a small number and an address would else give the same hash
// as another number and an address nearby.
constexpr std::uint64_t mix(std::uint64_t h, std::uint64_t v) noexcept {
  h ^= v * 0xd6e8feb86659fd93u;
  h *= 0x9fb21c651e98df25u;
  return h ^ h >> 29;
}

} // namespace gmt::interposer
