// SPDX-License-Identifier: Apache-2.0
// The ordered range index against a plain std::map, under random changes; and the lazy live index
// against it.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "analyzer/base/range_map.h"
#include "analyzer/heap/store/live_index.h"

namespace gmt::test {
namespace {

struct Piece {
  std::uint64_t end;
  std::uint32_t value;
};
using Reference = std::map<std::uint64_t, Piece>;

Reference::const_iterator first_ending_after(const Reference& ranges, std::uint64_t address) {
  auto at = ranges.upper_bound(address);
  if (at != ranges.begin() && std::prev(at)->second.end > address) --at;
  return at;
}

template <unsigned Capacity>
void compare(const RangeMap<Capacity>& map, const Reference& reference, std::uint64_t at) {
  const auto expected = first_ending_after(reference, at);
  const auto next = map.first_ending_after(at);
  ASSERT_EQ(static_cast<bool>(next), expected != reference.end());
  const auto found = map.find(at);
  if (!next) {
    EXPECT_FALSE(found);
    return;
  }
  EXPECT_EQ(next.begin, expected->first);
  EXPECT_EQ(next.end, expected->second.end);
  EXPECT_EQ(next.value, expected->second.value);
  EXPECT_EQ(static_cast<bool>(found), expected->first <= at);
  EXPECT_EQ(static_cast<bool>(map.find_exact(at)), expected->first == at);
}

TEST(RangeMap, AgreesWithAStandardMap) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    RangeMap<8> map; // small leaves: many splits and merges
    Reference reference;
    const std::uint64_t space = seed % 2 == 0 ? 5'000 : 500;
    for (std::uint32_t step = 0; step < 6'000; ++step) {
      const std::uint64_t begin = random() % space, end = begin + random() % 20;
      if (random() % 3 != 0) {
        const auto hit = first_ending_after(reference, begin);
        const bool fits = begin < end && (hit == reference.end() || hit->first >= end);
        ASSERT_EQ(map.insert(begin, end, step), fits);
        if (fits) reference[begin] = {end, step};
      } else {
        const auto at = reference.find(begin);
        ASSERT_EQ(map.take(begin), at == reference.end() ? RangeMap<8>::kNone : at->second.value);
        if (at != reference.end()) reference.erase(at);
      }
      compare(map, reference, random() % space);
      ASSERT_EQ(map.size(), reference.size());
    }
    std::size_t visited = 0;
    auto expected = reference.begin();
    map.for_each([&](const RangeMap<8>::Range& range) {
      ASSERT_NE(expected, reference.end());
      EXPECT_EQ(range.begin, expected->first);
      ++expected;
      ++visited;
    });
    EXPECT_EQ(visited, reference.size());
  }
}

TEST(RangeMap, OverwriteLeavesWhatSticksOut) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    RangeMap<8> map;
    std::vector<std::uint32_t> cells(400, RangeMap<8>::kNone); // the same, cell by cell
    for (std::uint32_t step = 0; step < 3'000; ++step) {
      const std::uint64_t begin = random() % 380, end = begin + random() % 20;
      map.overwrite(begin, end, step);
      for (std::uint64_t i = begin; i < end; ++i) cells[i] = step;
      for (int probe = 0; probe < 10; ++probe) {
        const std::uint64_t at = random() % 400;
        ASSERT_EQ(map.find(at).value, cells[at]);
      }
    }
  }
}

TEST(RangeMap, Ends) {
  RangeMap<8> map;
  EXPECT_FALSE(map.find(0));
  EXPECT_FALSE(map.first_ending_after(0));
  EXPECT_EQ(map.take(5), RangeMap<8>::kNone);
  EXPECT_FALSE(map.insert(5, 5, 1));
  EXPECT_TRUE(map.insert(0, 1, 1));
  EXPECT_TRUE(map.insert(UINT64_MAX - 1, UINT64_MAX, 2));
  EXPECT_EQ(map.find(UINT64_MAX - 1).value, 2u);
  EXPECT_FALSE(map.find(UINT64_MAX));
}

TEST(LiveIndex, ExactFilteredAndOrdered) {
  std::mt19937_64 random(1);
  LiveIndex index;
  std::map<std::uint64_t, std::uint32_t> live;
  const auto end = [](std::uint64_t begin) { return begin + 100; };
  for (std::uint32_t step = 0; step < 50'000; ++step) {
    const std::uint64_t begin = (random() % 3'000) * 1'000'000;
    const auto at = live.find(begin);
    if (at == live.end()) {
      ASSERT_TRUE(index.insert(begin, end(begin), step));
      live[begin] = step;
    } else if (random() % 4 != 0) {
      ASSERT_FALSE(index.insert(begin, end(begin), step));
      ASSERT_EQ(index.take(begin, end(begin)), at->second);
      live.erase(at);
    }
    if (!live.empty()) {
      ASSERT_TRUE(index.may_contain(live.begin()->first + 99));
    }
    ASSERT_EQ(index.find_exact(begin), live.contains(begin) ? live[begin] : LiveIndex::kNone);
    if (step % 997 != 0) continue;
    std::vector<std::uint32_t> unindexed;
    index.take_unindexed(unindexed);
    for (const std::uint32_t value : unindexed) {
      const auto found =
        std::ranges::find_if(live, [value](const auto& entry) { return entry.second == value; });
      ASSERT_NE(found, live.end());
      index.index(found->first, end(found->first), value);
    }
    EXPECT_EQ(index.ranges().size(), live.size());
    for (const auto& [base, value] : live) ASSERT_EQ(index.ranges().find(base + 50).value, value);
  }
}

TEST(LiveIndex, HugeBlocksSwitchTheFilterOff) {
  LiveIndex index;
  EXPECT_FALSE(index.may_contain(12345));
  ASSERT_TRUE(index.insert(0x1000, UINT64_MAX, 1));
  EXPECT_TRUE(index.may_contain(1ULL << 60));
  index.take(0x1000, UINT64_MAX);
  EXPECT_FALSE(index.may_contain(1ULL << 60));
}

} // namespace
} // namespace gmt::test
