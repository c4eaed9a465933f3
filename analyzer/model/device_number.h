// SPDX-License-Identifier: Apache-2.0
// A device's ordinal as a record has it. Tables have a row for each ordinal below the highest one,
// so a damaged word must not be taken for a number.
#pragma once

#include <cstdint>

namespace gmt {

inline constexpr std::uint64_t kMostDevices = 1024;

// -1 if it is none.
constexpr int device_number(std::uint64_t word) {
  return word < kMostDevices ? static_cast<int>(word) : -1;
}

} // namespace gmt
