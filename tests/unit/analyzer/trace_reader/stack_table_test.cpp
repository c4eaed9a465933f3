// SPDX-License-Identifier: Apache-2.0
// What becomes of more call stacks than a report keeps.

#include "analyzer/trace_reader/stack_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include <vector>

namespace gmt {
namespace {

std::vector<std::uint64_t> stack_of(std::uint64_t number, std::uint64_t outermost) {
  std::vector<std::uint64_t> frames{0x1000 + number};
  for (std::uint64_t i = 0; i < 12; ++i) frames.push_back(0x9000'0000 + outermost * 16 + i);
  return frames;
}

TEST(StackTable, KeepsTheFirstWholeAndOfOthersTheOutermostFrames) {
  constexpr std::size_t kMore = 5000;
  StackTable table;
  std::vector<StackId> ids;
  for (std::size_t i = 0; i < StackTable::kMostStacks; ++i)
    ids.push_back(table.intern(stack_of(i, 0)));
  EXPECT_EQ(table.merged(), 0u);
  EXPECT_EQ(table.size(), StackTable::kMostStacks);
  const StackId other = table.intern(stack_of(1'000'000, 7));
  for (std::size_t i = 1; i < kMore; ++i)
    EXPECT_EQ(table.intern(stack_of(1'000'000 + i, 7)), other);
  EXPECT_EQ(table.merged(), kMore);
  const auto kept = table.frames(other);
  const auto whole = stack_of(1'000'000, 7);
  ASSERT_EQ(kept.size(), 8u);
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), whole.end() - 8));
  EXPECT_EQ(table.intern(stack_of(5, 0)), ids[5]); // known ones stay known
}

TEST(StackTable, IsBoundedWhereTheOutermostFramesDifferToo) {
  StackTable table;
  for (std::size_t i = 0; i < 4 * StackTable::kMostStacks; ++i)
    table.intern(std::vector<std::uint64_t>{1, 2, 3, i, i + 1, i + 2, i + 3, 10'000'000 + i});
  EXPECT_EQ(table.merged(), 3 * StackTable::kMostStacks);
  EXPECT_LE(table.size(), 2 * StackTable::kMostStacks);
}

} // namespace
} // namespace gmt
