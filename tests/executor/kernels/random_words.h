// SPDX-License-Identifier: Apache-2.0
// The numbers that the recorded scenes are made of: they never change.
#pragma once

#include <cstdint>

namespace {

std::uint64_t random_state = 1;
std::uint32_t random_word() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return static_cast<std::uint32_t>((random_state * 0x2545f4914f6cdd1dull) >> 32);
}
float unit() { return static_cast<float>(random_word() >> 8) * 0x1p-24f; }

} // namespace
