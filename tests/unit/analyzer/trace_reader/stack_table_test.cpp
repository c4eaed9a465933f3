// SPDX-License-Identifier: Apache-2.0
// Equal call stacks are one; what becomes of more of them than a report keeps.

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

TEST(StackTable, EqualStacksHaveEqualIds) {
  StackTable table;
  const std::uint64_t a[] = {1, 2, 3}, b[] = {1, 2};
  EXPECT_EQ(table.intern({}).value, 0u);
  const StackId first = table.intern(a);
  EXPECT_EQ(table.intern(b).value, 2u);
  EXPECT_EQ(table.intern(a), first);
  EXPECT_EQ(table.frames(first).size(), 3u);
  EXPECT_TRUE(table.frames({}).empty());
  EXPECT_TRUE(table.frames({77}).empty());
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t stack[] = {i, i + 1};
    table.intern(stack);
  }
  EXPECT_EQ(table.intern(a), first);
  EXPECT_EQ(table.size(), 10'001u); // {1, 2} was there
}

} // namespace
} // namespace gmt
