// SPDX-License-Identifier: Apache-2.0
// Regions of pools in the table of valid bytes: each is written before a launch, in the order of
// its stream.
#include <gtest/gtest.h>

#include "interposer/kernel_checks/interface.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/pool_map.h"
#include "interposer/kernel_checks/library/regions.h"
#include "made_up_driver.h"

namespace gmt::interposer::kernel_checks {
namespace {

const auto kOneStream = reinterpret_cast<CUstream>(0x5000);   // NOLINT: a handle
const auto kOtherStream = reinterpret_cast<CUstream>(0x6000); // NOLINT: a handle
constexpr std::uint64_t kPoolNumber = 7, kPoolBytes = 16384;

struct KernelCheckRegions : testing::Test {
  void SetUp() override {
    begin_made_up_driver();
    where_memory_is = kLow;
    has_registered_memory = true;
    end_launches(begun_launches()); // of other tests
    EXPECT_EQ(allocate(&block, kPoolBytes), CUDA_SUCCESS);
  }
  void TearDown() override { forget_regions(); }
  static void wait() { end_launches(begun_launches()); }

  CUdeviceptr block = 0;
};

TEST_F(KernelCheckRegions, APoolHasNothingButItsRegions) {
  pool_begins(kPoolNumber, block, kPoolBytes);
  region_given_out(kPoolNumber, block + 512, 1300);
  EXPECT_GE(entry_at(block), rewriter::kFirstBlock); // nothing is launched yet
  write_regions(kOneStream);
  EXPECT_EQ(entry_at(block), rewriter::kPoisonEntry);
  EXPECT_GE(entry_at(block + 512), rewriter::kFirstBlock);
  EXPECT_EQ(entry_at(block + 1024), 512);
  EXPECT_EQ(entry_at(block + 1536), 276);
  EXPECT_EQ(entry_at(block + 2048), rewriter::kPoisonEntry);
  EXPECT_EQ(entry_at(block + kPoolBytes - 1), rewriter::kPoisonEntry);
  region_given_back(block + 512);
  EXPECT_EQ(entry_at(block + 1536), 276); // kernels that were launched before use it rightly
  write_regions(kOneStream);
  for (const unsigned at : {512u, 1024u, 1536u})
    EXPECT_EQ(entry_at(block + at), rewriter::kFreedEntry);
  pool_ends(kPoolNumber);
  write_regions(kOneStream);
  EXPECT_GE(entry_at(block), rewriter::kFirstBlock);
  EXPECT_GE(entry_at(block + 512), rewriter::kFirstBlock);
  EXPECT_EQ(entry_at(block + kPoolBytes - 1), 512);
  EXPECT_EQ(entry_at(block + kPoolBytes), rewriter::kPoisonEntry);
}

TEST_F(KernelCheckRegions, EntriesChangeInTheOrderOfTheStream) {
  region_given_out(kPoolOfBlock, block, 2048);
  write_regions(kOneStream);
  are_streams_busy = true;
  region_given_back(block);
  write_regions(kOneStream);
  EXPECT_GE(entry_at(block), rewriter::kFirstBlock);
  region_given_out(kPoolOfBlock, block, 700);
  write_regions(kOneStream);
  EXPECT_GE(entry_at(block), rewriter::kFirstBlock);
  let_streams_go_on();
  EXPECT_EQ(entry_at(block), 512);
  EXPECT_EQ(entry_at(block + 512), 188);
  EXPECT_EQ(entry_at(block + 1024), rewriter::kFreedEntry);
  EXPECT_EQ(entry_at(block + 4096), rewriter::kPoisonEntry);
}

// What is queued in the first stream must not come behind what the second one knows.
TEST_F(KernelCheckRegions, AllIsRightWhileKernelsOfTwoStreamsMayRun) {
  region_given_out(kPoolOfBlock, block, 2048);
  write_regions(kOneStream);
  are_streams_busy = true;
  region_given_back(block);
  write_regions(kOneStream);
  write_regions(kOtherStream);
  let_streams_go_on();
  are_streams_busy = false;
  for (std::uint64_t at = 0; at < kPoolBytes; at += 512)
    ASSERT_EQ(entry_at(block + at), rewriter::kNoBlock) << at;
  ASSERT_EQ(reported.plain.size(), 1u);
  EXPECT_EQ(reported.plain[0].reason,
            "regions of pools count as right while kernels of more than one stream may use them");
  write_regions(kOneStream);
  EXPECT_EQ(entry_at(block), rewriter::kNoBlock);
  wait();
  write_regions(kOtherStream); // alone
  EXPECT_EQ(entry_at(block), rewriter::kFreedEntry);
  EXPECT_EQ(entry_at(block + 2048), rewriter::kPoisonEntry);
}

TEST_F(KernelCheckRegions, KernelsThatRanBeforeTheFirstPoolAreWaitedFor) {
  begin_launch();
  pool_begins(kPoolNumber, block, kPoolBytes);
  write_regions(kOneStream);
  EXPECT_EQ(entry_at(block), rewriter::kNoBlock);
  wait();
  write_regions(kOneStream);
  EXPECT_EQ(entry_at(block), rewriter::kPoisonEntry);
}

// The host hands it to a kernel that waits for it.
TEST_F(KernelCheckRegions, ARegionIsRightAtOnceWhereAKernelMayRun) {
  pool_begins(kPoolNumber, block, kPoolBytes);
  write_regions(kOneStream);
  region_given_out(kPoolNumber, block + 1024, 1000);
  EXPECT_EQ(entry_at(block + 1024), rewriter::kNoBlock);
  EXPECT_EQ(entry_at(block + 1536), rewriter::kNoBlock);
  EXPECT_EQ(entry_at(block + 2048), rewriter::kPoisonEntry);
}

TEST_F(KernelCheckRegions, WhatChangesInACaptureIsUnknownForGood) {
  region_given_out(kPoolOfBlock, block, 2048);
  write_regions(kOneStream);
  captures.fetch_add(1);
  region_given_out(kPoolOfBlock, block + 4096, 2048);
  region_given_back(block + 4096);
  captures.fetch_sub(1);
  write_regions(kOneStream);
  EXPECT_EQ(entry_at(block), rewriter::kNoBlock);
  EXPECT_EQ(entry_at(block + kPoolBytes - 1), rewriter::kNoBlock);
  region_given_back(block);
  write_regions(kOneStream);
  EXPECT_EQ(entry_at(block), rewriter::kNoBlock);
}

TEST_F(KernelCheckRegions, APoolWithoutARangeHasItsFormerRegions) {
  pool_begins(kPoolNumber, 0, 0);
  region_given_out(kPoolNumber, block + 512, 512);
  region_given_out(kPoolNumber + 1, block + 2048, 512); // of no pool
  write_regions(kOneStream);
  EXPECT_GE(entry_at(block), rewriter::kFirstBlock);
  region_given_back(block + 512);
  region_given_back(block + 2048);
  write_regions(kOneStream);
  EXPECT_EQ(entry_at(block), 512);
  EXPECT_EQ(entry_at(block + 512), rewriter::kFreedEntry);
  EXPECT_GE(entry_at(block + 2048), rewriter::kFirstBlock);
}

TEST_F(KernelCheckRegions, ARegionGetsAnotherSize) {
  pool_begins(kPoolNumber, block, kPoolBytes);
  region_given_out(kPoolNumber, block, 4096);
  region_given_out(kPoolOfRegion, block, 100);
  region_given_out(kPoolOfRegion, block + 8192, 100); // none begins there
  write_regions(kOneStream);
  EXPECT_EQ(entry_at(block), 100);
  EXPECT_EQ(entry_at(block + 512), rewriter::kFreedEntry);
  EXPECT_EQ(entry_at(block + 8192), rewriter::kPoisonEntry);
  pool_is_reset(kPoolNumber);
  write_regions(kOneStream);
  EXPECT_EQ(entry_at(block), rewriter::kFreedEntry);
}

TEST_F(KernelCheckRegions, AFreedBlockHasNoRegions) {
  region_given_out(kPoolOfBlock, block, 2048);
  write_regions(kOneStream);
  CUresult result = CUDA_SUCCESS;
  EXPECT_TRUE(free_block(block, &result));
  EXPECT_EQ(entry_at(block), rewriter::kFreedEntry);
  region_given_back(block);
  write_regions(kOneStream);
  EXPECT_EQ(entry_at(block), rewriter::kFreedEntry);
}

// Bounds inside of which nothing has to be asked; outside of them the table decides.
TEST_F(KernelCheckRegions, BoundsOfARegionAreAHint) {
  region_given_out(kPoolOfBlock, block + 512, 2000);
  write_regions(kOneStream);
  const std::int32_t slot = entry_at(block + 512) - rewriter::kFirstBlock;
  rewriter::Block bounds;
  ASSERT_EQ(driver.fetch(&bounds,
                         rewriter::slot_address(table().placed(), static_cast<std::uint32_t>(slot)),
                         sizeof bounds, nullptr),
            0);
  EXPECT_EQ(bounds.begin, block + 512);
  EXPECT_EQ(bounds.end, (block + 2512) | rewriter::kTableDecides);
}

// ---- what a block is divided into

std::vector<std::int16_t> entries_of(const PoolMap& map) {
  return map.entries(map.block().begin, map.block().end);
}

TEST(KernelCheckPoolMap, RegionsInOneGranuleReachToTheEndOfTheLast) {
  PoolMap map({65536, 65536 + 2048}, 3);
  map.own(65536, 65536 + 2048);
  map.give_out({65536, 65536 + 100, 4});
  map.give_out({65536 + 256, 65536 + 1280, 5});
  map.give_out({65536 + 1280, 65536 + 1536, 6});
  using Entries = std::vector<std::int16_t>;
  EXPECT_EQ(entries_of(map), (Entries{1024 + 5, 1024 + 5, 512, -1}));
  EXPECT_TRUE(map.give_back(65536 + 256));
  EXPECT_EQ(entries_of(map), (Entries{100, -2, 512, -1}));
  EXPECT_FALSE(map.give_back(65536 + 256));
}

TEST(KernelCheckPoolMap, WhatIsNoPoolsIsTheBlocks) {
  PoolMap map({65536, 65536 + 2600}, 3);
  map.own(65536 + 1024, 65536 + 1536);
  using Entries = std::vector<std::int16_t>;
  EXPECT_EQ(entries_of(map), (Entries{1024 + 3, 512, -1, 1024 + 3, 512, 40}));
  EXPECT_EQ(map.entries(65536 + 1024, 65536 + 1030), (Entries{-1}));
  map.give_out({65536 + 1024, 65536 + 1536, 9});
  EXPECT_EQ(entries_of(map), (Entries{1024 + 3, 1024 + 3, 1024 + 9, 1024 + 3, 512, 40}));
}

} // namespace
} // namespace gmt::interposer::kernel_checks
