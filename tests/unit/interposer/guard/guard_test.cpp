// SPDX-License-Identifier: Apache-2.0
// The parts of --guard that call nothing of CUDA: addresses, the table of blocks, patterns, the
// sampler, the list of exclusions.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "interposer/guard/exclusions.h"
#include "interposer/guard/sampler.h"
#include "interposer/guard/slack.h"
#include "interposer/guard/store/address_space.h"
#include "interposer/guard/store/blocks.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

constinit const SessionParts session_parts{nullptr, 0}; // no session begins here

namespace {

class Addresses : public testing::Test {
protected:
  void begin(std::uint64_t units) { ASSERT_TRUE(space_.begin(units)); }
  void TearDown() override { space_.end(); }
  AddressSpace space_;
};

TEST_F(Addresses, NothingIsGivenOutTwiceBeforeTheEnd) {
  begin(101);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 25; ++i) {
    const AddressRange range = space_.take(4);
    ASSERT_EQ(range.units, 4u);
    EXPECT_NE(range.first, 0u) << "the first unit lies in front of the first block";
    for (unsigned u = 0; u < 4; ++u) EXPECT_TRUE(seen.insert(range.first + u).second);
    space_.give(range);
  }
  EXPECT_EQ(space_.reused(), 0u);
}

TEST_F(Addresses, TheOldestAreReusedFirstAndCounted) {
  begin(13); // three ranges of four units
  const AddressRange a = space_.take(4), b = space_.take(4), c = space_.take(4);
  ASSERT_EQ(c.units, 4u);
  EXPECT_EQ(space_.take(1).units, 0u) << "all is in use";
  space_.give(b);
  space_.give(a);
  EXPECT_EQ(space_.take(4).first, b.first);
  EXPECT_EQ(space_.take(4).first, a.first);
  EXPECT_EQ(space_.reused(), 2u);
}

TEST_F(Addresses, APartOfARestingRangeServesAndTheRestStays) {
  begin(9);
  space_.give(space_.take(8));
  const AddressRange first = space_.take(3), second = space_.take(5);
  EXPECT_EQ(first.units, 3u);
  EXPECT_EQ(second.first, first.first + 3);
  EXPECT_EQ(space_.take(1).units, 0u);
}

TEST_F(Addresses, NeighboursFreedOneBehindTheOtherServeALargerOne) {
  begin(9);
  const AddressRange a = space_.take(4), b = space_.take(4);
  space_.give(a);
  space_.give(b);
  EXPECT_EQ(space_.take(8).first, a.first);
}

TEST_F(Addresses, WhatWasNeverUsedDoesNotRest) {
  begin(9);
  const AddressRange a = space_.take(4);
  space_.give_unused(a);
  EXPECT_EQ(space_.take(4).first, a.first);
  EXPECT_EQ(space_.reused(), 0u);
}

TEST_F(Addresses, TooMuchIsRefused) {
  begin(9);
  EXPECT_EQ(space_.take(9).units, 0u);
  EXPECT_EQ(space_.take(0).units, 0u);
  EXPECT_EQ(space_.take(std::uint64_t{1} << 40).units, 0u);
}

class Blocks : public testing::Test {
protected:
  static constexpr CUdeviceptr kBase = std::uint64_t{1} << 44;
  void SetUp() override { ASSERT_TRUE(blocks_.begin(kBase, 64)); }
  void TearDown() override { blocks_.forget(); }
  GuardBlock block_of(std::uint64_t bytes) {
    GuardBlock block;
    block.range = blocks_.space().take(2 * units_for(bytes));
    block.bytes = bytes;
    block.mapped = units_for(bytes) * kGuardUnit;
    block.mapping = blocks_.address_of(block.range.first);
    block.address = block.mapping + block.mapped - (bytes + 511) / 512 * 512;
    block.state = BlockState::kLive;
    return block;
  }
  GuardBlocks blocks_;
};

TEST_F(Blocks, AreFoundByAnyAddressOfTheirMappingAndNoOther) {
  const GuardBlock small = block_of(1000), large = block_of(3 * kGuardUnit);
  const std::uint32_t a = blocks_.add(small), b = blocks_.add(large);
  EXPECT_EQ(blocks_.find(small.address), a);
  EXPECT_EQ(blocks_.find(small.mapping), a);
  EXPECT_EQ(blocks_.find(small.mapping + small.mapped - 1), a);
  EXPECT_EQ(blocks_.find(small.mapping + small.mapped), 0u) << "the gap";
  EXPECT_EQ(blocks_.find(large.address + large.bytes - 1), b);
  EXPECT_EQ(blocks_.find(large.mapping + large.mapped), 0u);
  EXPECT_EQ(blocks_.find(kBase - 1), 0u);
  EXPECT_EQ(blocks_.find(kBase + 64 * kGuardUnit), 0u);
}

TEST_F(Blocks, AreNotFoundOnceTheyAreFreed) {
  const GuardBlock block = block_of(1000);
  const std::uint32_t number = blocks_.add(block);
  blocks_.at(number).state = BlockState::kWaiting;
  EXPECT_EQ(blocks_.find(block.address), 0u);
  EXPECT_EQ(blocks_.find_any(block.address), number) << "its memory is still mapped";
  blocks_.remove(number);
  EXPECT_EQ(blocks_.find_any(block.address), 0u);
  EXPECT_EQ(blocks_.add(block_of(1000)), number) << "numbers are used again";
}

TEST(Patterns, LieBehindAndInFrontOfTheBlock) {
  GuardBlock block;
  block.mapping = 0x10000000;
  block.mapped = kGuardUnit;
  block.bytes = 1000;
  block.address = block.mapping + block.mapped - 1024;
  const Slack slack = slack_of(block);
  EXPECT_EQ(slack.behind.address, block.address + 1000);
  EXPECT_EQ(slack.behind.bytes, 24u);
  EXPECT_EQ(slack.before.address + slack.before.bytes, block.address);
  EXPECT_EQ(slack.before.bytes, kMostBefore);
}

TEST(Patterns, OfABlockThatFillsItsMappingAreNone) {
  GuardBlock block;
  block.mapping = block.address = 0x10000000;
  block.mapped = block.bytes = kGuardUnit;
  EXPECT_EQ(slack_of(block).before.bytes, 0u);
  EXPECT_EQ(slack_of(block).behind.bytes, 0u);
}

TEST(Patterns, AChangeGoesFromTheFirstChangedByteToTheLast) {
  std::array<unsigned char, 64> bytes;
  bytes.fill(kPattern);
  EXPECT_EQ(find_change(bytes.data(), bytes.size()).bytes, 0u);
  bytes[10] = 0;
  EXPECT_EQ(find_change(bytes.data(), bytes.size()).first, 10u);
  EXPECT_EQ(find_change(bytes.data(), bytes.size()).bytes, 1u);
  bytes[63] = 1;
  EXPECT_EQ(find_change(bytes.data(), bytes.size()).bytes, 54u);
  bytes[0] = 1;
  EXPECT_EQ(find_change(bytes.data(), bytes.size()).first, 0u);
  EXPECT_EQ(find_change(bytes.data(), 0).bytes, 0u);
}

// Allocations come at a steady pace; each fenced one costs as much. The share of the time is the
// sampler's to keep.
double share_of_time(std::uint64_t pace_ns, std::uint64_t cost_ns, unsigned count) {
  GuardSampler sampler;
  std::uint64_t now = 1'000'000, spent = 0;
  sampler.begin(now);
  for (unsigned i = 0; i < count; ++i) {
    now += pace_ns;
    if (!sampler.choose(now)) continue;
    sampler.spent(cost_ns);
    spent += cost_ns;
    now += cost_ns;
  }
  return static_cast<double>(spent) / static_cast<double>(now);
}

TEST(Sampler, StaysUnderItsShareOfTheTime) {
  EXPECT_LT(share_of_time(1'000, 100'000, 1'000'000), 0.0051);
  EXPECT_LT(share_of_time(100'000, 80'000, 100'000), 0.0051);
}

TEST(Sampler, UsesWhatItMay) {
  EXPECT_GT(share_of_time(1'000, 100'000, 1'000'000), 0.003);
  EXPECT_GT(share_of_time(100'000, 80'000, 100'000), 0.003);
}

TEST(Sampler, FencesAllWhereAllocationsAreRare) {
  GuardSampler sampler;
  std::uint64_t now = 0;
  sampler.begin(now);
  for (int i = 0; i < 100; ++i) {
    now += 1'000'000'000;
    EXPECT_TRUE(sampler.choose(now));
    sampler.spent(100'000);
  }
  EXPECT_EQ(sampler.share_permille(), 1000u);
}

TEST(Exclusions, NameFilesAndAddresses) {
  EXPECT_TRUE(list_names("libnccl.so.2", "libnccl.so.2", 0x10));
  EXPECT_TRUE(list_names("app+0x1a2b", "app", 0x1a2b));
  EXPECT_TRUE(list_names("libfoo.so,app+0x1a2b,x", "app", 0x1a2b));
  EXPECT_FALSE(list_names("app+0x1a2b", "app", 0x1a2c));
  EXPECT_FALSE(list_names("libnccl.so.2", "libnccl.so", 0x10));
  EXPECT_FALSE(list_names("libnccl.so", "libnccl.so.2", 0x10));
  EXPECT_FALSE(list_names("", "app", 1));
  EXPECT_FALSE(list_names(",", "app", 1));
}

} // namespace
} // namespace gmt::interposer
