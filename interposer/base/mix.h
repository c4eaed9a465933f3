// SPDX-License-Identifier: Apache-2.0
// One step of a hash over words.
#pragma once

#include <cstdint>

namespace gmt::interposer {

constexpr std::uint64_t mix(std::uint64_t h, std::uint64_t v) noexcept {
  h ^= v;
  h *= 0x9fb21c651e98df25u;
  return h ^ h >> 29;
}

} // namespace gmt::interposer
