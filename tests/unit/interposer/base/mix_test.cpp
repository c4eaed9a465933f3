// SPDX-License-Identifier: Apache-2.0
// Hashes stand for what was hashed: what differs a little must not share one.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "interposer/base/mix.h"

namespace gmt::interposer {
namespace {

// As a native stack's number and the instruction of Python's innermost frame.
TEST(Mix, ANumberAndAnAddressShareNoHashWithTheirNeighbours) {
  constexpr std::uint64_t kNumbers = 256, kInstructions = 1024, kCode = 0x7f1cda853400;
  std::set<std::uint64_t> hashes;
  for (std::uint64_t number = 0; number < kNumbers; ++number) {
    for (std::uint64_t i = 0; i < kInstructions; ++i) hashes.insert(mix(number, kCode + 2 * i));
  }
  EXPECT_EQ(hashes.size(), kNumbers * kInstructions);
}

TEST(Mix, SumsOfNeighboursShareNoHash) {
  constexpr std::uint64_t kMost = 512;
  std::set<std::uint64_t> hashes;
  for (std::uint64_t a = 0; a < kMost; ++a) {
    for (std::uint64_t b = 0; b < kMost; ++b) hashes.insert(mix(mix(0, a), b));
  }
  EXPECT_EQ(hashes.size(), kMost * kMost);
}

} // namespace
} // namespace gmt::interposer
