// SPDX-License-Identifier: Apache-2.0
// Bytes that rows have in common, compared with sets of single bytes.
#include "analyzer/detectors/shared/rows_overlap.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace gmt {
namespace {

std::set<std::uint64_t> bytes_of(const Rows& rows) {
  std::set<std::uint64_t> bytes;
  for (std::uint64_t z = 0; z < rows.depth; ++z) {
    for (std::uint64_t y = 0; y < rows.height; ++y) {
      for (std::uint64_t x = 0; x < rows.width; ++x)
        bytes.insert(rows.address + (z * rows.slice + y) * rows.pitch + x);
    }
  }
  return bytes;
}

// Rows of one grid are no work, nor are those that are too many to be looked at.
TEST(RowsOverlap, SaysHowManyRowsItLooksAt) {
  const Rows many{
    .address = 1000, .pitch = 16, .width = 8, .height = 500, .depth = 3, .slice = 600};
  Rows other = many;
  other.pitch = 24;
  EXPECT_EQ(rows_to_compare(many, many), 1u);
  EXPECT_EQ(rows_to_compare(many, other), 3u * 3 * 500);
  other.height = std::uint64_t{1} << 40;
  other.slice = other.height + 1;
  EXPECT_LE(rows_to_compare(many, other), 3u * 3 * 500);
}

TEST(RowsOverlap, IsWhatSetsOfBytesSay) {
  std::mt19937 random(1);
  const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
  int met = 0;
  for (int i = 0; i < 20000; ++i) {
    Rows both[2];
    for (Rows& rows : both) {
      rows.address = 1000 + up_to(120);
      rows.width = 1 + up_to(7);
      rows.pitch = up_to(1) == 0 ? 12 : rows.width + up_to(9);
      rows.height = 1 + up_to(3);
      rows.depth = 1 + up_to(2);
      rows.slice = rows.height + up_to(2);
    }
    const std::set<std::uint64_t> first = bytes_of(both[0]);
    bool expected = false;
    for (const std::uint64_t byte : bytes_of(both[1])) expected |= first.contains(byte);
    met += expected ? 1 : 0;
    ASSERT_EQ(overlap(both[0], both[1]), expected) << i;
    ASSERT_EQ(overlap(both[1], both[0]), expected) << i;
  }
  EXPECT_GT(met, 2000);
  EXPECT_LT(met, 18000);
}

TEST(RowsOverlap, RowsWithoutAPitchAreNotCompared) {
  EXPECT_FALSE(overlap({.address = 0, .width = 8, .height = 4}, {.address = 0, .width = 8}));
  EXPECT_FALSE(overlap({.address = 0}, {.address = 0, .width = 8}));
}

} // namespace
} // namespace gmt
