// SPDX-License-Identifier: Apache-2.0
// Blocks of device memory in the table of valid bytes, over a driver whose memory is the host's.
// They are one file because they are one list: a test for each way in which a block comes and goes.
#include <gtest/gtest.h>

#include <vector>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/memory.h"
#include "made_up_driver.h"
#include "tests/support/test_share.h"

namespace gmt::interposer::kernel_checks {
namespace {

struct KernelCheckMemory : testing::Test {
  void SetUp() override { begin_made_up_driver(); }

  static CUdeviceptr block_of(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(allocate(&address, bytes), CUDA_SUCCESS);
    return address;
  }
};

TEST_F(KernelCheckMemory, ABlockHasItsBytesAndPoisonBehind) {
  const CUdeviceptr block = block_of(1300);
  EXPECT_GE(entry_at(block), rewriter::kFirstBlock);
  EXPECT_EQ(entry_at(block + 512), 512);
  EXPECT_EQ(entry_at(block + 1024), 276);
  EXPECT_EQ(entry_at(block + 1536), rewriter::kPoisonEntry);
  EXPECT_EQ(entry_at(block + 2048), rewriter::kNoBlock);
}

TEST_F(KernelCheckMemory, AFullGranuleHasPoisonBehind) {
  const CUdeviceptr block = block_of(512);
  EXPECT_EQ(entry_at(block), 512);
  EXPECT_EQ(entry_at(block + 512), rewriter::kPoisonEntry);
}

// Larger sets would take the numbers of grids, by which launches that log malloc are known.
TEST_F(KernelCheckMemory, ALargeBlockIsWrittenWithoutAGrid) {
  block_of(8); // so that there is a table
  table().avoid_grids();
  reported.largest_set = 0;
  constexpr std::size_t kBytes = (40 << 20) + 700; // of 81,922 entries
  const CUdeviceptr block = block_of(kBytes);
  EXPECT_LE(reported.largest_set, kMostOfSet);
  for (std::size_t at = 0; at < kBytes - 1024; at += 512)
    ASSERT_EQ(entry_at(block + at), entry_at(block)) << at;
  EXPECT_GE(entry_at(block), rewriter::kFirstBlock);
  EXPECT_EQ(entry_at(block + kBytes - 1), 188);
  EXPECT_EQ(entry_at(block + kBytes + 512), rewriter::kPoisonEntry);
  EXPECT_EQ(entry_at(block + kBytes + 1024), rewriter::kNoBlock);
  Table::begin_anew();
}

// They are in plain kernels, too: the table must be where the code says, on each device.
TEST_F(KernelCheckMemory, WhereFunctionsThatAreCalledByPointerHaveChecks) {
  const auto have_checks = [](int devices, bool is_given) {
    device_count = devices;
    is_address_given = is_given;
    Table::begin_anew();
    EXPECT_TRUE(Table::prepare());
    device_count = 1;
    is_address_given = false;
    return Table::options().checks_by_pointer;
  };
  EXPECT_TRUE(have_checks(1, true));
  EXPECT_FALSE(have_checks(1, false));
  EXPECT_FALSE(have_checks(2, true));
  Table::begin_anew();
}

TEST_F(KernelCheckMemory, AFreedBlockRests) {
  const CUdeviceptr block = block_of(600);
  reported.freed.clear(); // the probe of the window
  CUresult result = CUDA_ERROR_UNKNOWN;
  EXPECT_TRUE(free_block(block, &result));
  EXPECT_EQ(result, CUDA_SUCCESS);
  EXPECT_EQ(entry_at(block), rewriter::kFreedEntry);
  EXPECT_EQ(entry_at(block + 599), rewriter::kFreedEntry);
  EXPECT_TRUE(reported.freed.empty());
  EXPECT_TRUE(free_block(block, &result));
  EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE); // as the driver says of what is free
}

TEST_F(KernelCheckMemory, RestingBlocksAreGivenBackBeforeMemoryIsShort) {
  const CUdeviceptr block = block_of(600);
  reported.freed.clear();
  CUresult result = CUDA_ERROR_UNKNOWN;
  free_block(block, &result);
  is_out_of_memory = true;
  EXPECT_NE(block_of(600), 0u);
  EXPECT_EQ(reported.freed, std::vector<std::uint64_t>{block});
  EXPECT_EQ(entry_at(block), rewriter::kNoBlock);
}

// Whatever memory is short for.
TEST_F(KernelCheckMemory, OtherCallsGetWhatRests) {
  const auto is_given_back = [](const auto& call) {
    const CUdeviceptr block = block_of(600);
    CUresult result = CUDA_ERROR_UNKNOWN;
    free_block(block, &result);
    reported.freed.clear();
    is_out_of_memory = true;
    EXPECT_EQ(call(), CUDA_SUCCESS);
    return reported.freed == std::vector<std::uint64_t>{block};
  };
  CUdeviceptr address = 0;
  std::size_t pitch = 0;
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_TRUE(is_given_back(
    [&] { return call_replaced("cuMemAllocManaged", &address, std::size_t{600}, 1U); }));
  EXPECT_EQ(entry_at(address + 1024), rewriter::kPoisonEntry);
  EXPECT_TRUE(is_given_back([&] { return allocate_pitched(&address, &pitch, 600, 4, 4); }));
  EXPECT_EQ(entry_at(address + 4096), rewriter::kPoisonEntry);
  EXPECT_TRUE(is_given_back([&] {
    const CUmemAllocationProp* what = nullptr;
    return call_replaced("cuMemCreate", &handle, std::size_t{4096}, what, 0ULL);
  }));
  is_out_of_memory = true; // and nothing rests
  const CUmemAllocationProp* what = nullptr;
  EXPECT_EQ(call_replaced("cuMemCreate", &handle, std::size_t{4096}, what, 0ULL),
            CUDA_ERROR_OUT_OF_MEMORY);
}

// The driver would map pages and give them back, at each allocation.
TEST_F(KernelCheckMemory, WhereMuchRestsTheOldestOfTheSizeIsGivenOut) {
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  CUresult result = CUDA_ERROR_UNKNOWN;
  std::vector<CUdeviceptr> freed;
  for (int i = 0; i < 7; ++i) { // of 8 MiB and poison, 7 fit into 64 MiB
    freed.push_back(block_of(kBytes));
    free_block(freed.back(), &result);
  }
  const CUdeviceptr other = block_of(4096);
  free_block(other, &result);
  reported.allocations = 0;
  reported.freed.clear();
  EXPECT_EQ(block_of(kBytes - 100), freed[0]); // the same with its poison
  EXPECT_EQ(entry_at(freed[0] + kBytes - 512), 412);
  EXPECT_EQ(entry_at(freed[0] + kBytes), rewriter::kPoisonEntry);
  EXPECT_GE(entry_at(freed[0]), rewriter::kFirstBlock);
  EXPECT_EQ(entry_at(freed[1]), rewriter::kFreedEntry);
  EXPECT_EQ(reported.allocations, 0);
  EXPECT_NE(block_of(4096), other); // there is room for it to rest
  free_block(freed[0], &result);
  EXPECT_EQ(block_of(kBytes), freed[1]);
  EXPECT_TRUE(reported.freed.empty());
  std::size_t bytes = 0;
  EXPECT_TRUE(find_block(freed[1], nullptr, &bytes));
  EXPECT_EQ(bytes, kBytes);
}

// Of another size, too, where the old block has room for it and not much more. What is behind the
// new one is no memory of the program's, and all of it is unknown when the driver gets it back.
TEST_F(KernelCheckMemory, WhereMuchRestsOldBlocksHaveRoomForOtherSizes) {
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  CUresult result = CUDA_ERROR_UNKNOWN;
  std::vector<CUdeviceptr> freed;
  for (int i = 0; i < 6; ++i) { // of 9 MiB, as they are rounded up
    freed.push_back(block_of(kBytes + 1000));
    free_block(freed.back(), &result);
  }
  block_of(std::size_t{20} << 20); // it is none of them
  free_block(block_of(std::size_t{4} << 20), &result);
  reported.allocations = 0;
  reported.freed.clear();
  const std::size_t smaller = kBytes - 300000;
  EXPECT_EQ(block_of(smaller), freed[0]);
  EXPECT_EQ(reported.allocations, 0);
  EXPECT_EQ(entry_at(freed[0] + smaller), entry_at(freed[0] + smaller / 512 * 512));
  EXPECT_EQ(entry_at(freed[0] + smaller + 512), rewriter::kPoisonEntry);
  EXPECT_EQ(entry_at(freed[0] + smaller + 1024), rewriter::kFreedEntry);
  std::size_t bytes = 0;
  EXPECT_TRUE(find_block(freed[0], nullptr, &bytes));
  EXPECT_EQ(bytes, smaller);
  free_block(freed[0], &result);
  release_all_resting();
  EXPECT_EQ(entry_at(freed[0] + smaller + 1024), rewriter::kNoBlock);
  EXPECT_EQ(entry_at(freed[0] + kBytes + 1024), rewriter::kNoBlock);
}

// A launch waits for what was written before. What is written while kernels may run is waited for
// at once: the host may hand them the block.
TEST_F(KernelCheckMemory, WhatIsWrittenIsWaitedForWhereKernelsAskForIt) {
  block_of(8);
  end_launches(begun_launches());
  table().settle();
  reported.table_waits = 0;
  const CUdeviceptr block = block_of(1 << 20);
  CUresult result = CUDA_ERROR_UNKNOWN;
  free_block(block, &result);
  EXPECT_EQ(reported.table_waits, 0);
  table().settle();
  table().settle();
  EXPECT_EQ(reported.table_waits, 1);
  begin_launch();
  block_of(1 << 20);
  EXPECT_EQ(reported.table_waits, 2);
  EXPECT_EQ(call_replaced("cuCtxSynchronize"), CUDA_SUCCESS);
  block_of(1 << 20);
  EXPECT_EQ(reported.table_waits, 2);
}

// Another thread's call has counted its launch, and the driver may get it behind the wait.
TEST_F(KernelCheckMemory, AWaitIsForNoLaunchWhoseCallLasts) {
  block_of(8);
  {
    const LaunchCall call;
    begin_launch();
    EXPECT_EQ(call_replaced("cuCtxSynchronize"), CUDA_SUCCESS);
    EXPECT_TRUE(may_any_run());
  }
  EXPECT_EQ(call_replaced("cuCtxSynchronize"), CUDA_SUCCESS);
  EXPECT_FALSE(may_any_run());
}

TEST_F(KernelCheckMemory, AnAddressInsideOfABlockIsTheDriversToRefuse) {
  const CUdeviceptr block = block_of(600);
  CUresult result = CUDA_ERROR_UNKNOWN;
  EXPECT_FALSE(free_block(block + 8, &result));
  EXPECT_EQ(entry_at(block), 512);
}

TEST_F(KernelCheckMemory, ABlockIsAsLargeAsWasAskedFor) {
  const CUdeviceptr block = block_of(600);
  CUdeviceptr begin = 0;
  std::size_t bytes = 0;
  EXPECT_TRUE(find_block(block + 599, &begin, &bytes));
  EXPECT_EQ(begin, block);
  EXPECT_EQ(bytes, 600u);
  EXPECT_FALSE(find_block(block + 600, &begin, &bytes));
  EXPECT_FALSE(find_block(block - 1, &begin, &bytes));
}

TEST_F(KernelCheckMemory, WhatTheDriverFreesInItsOwnWayIsUnknown) {
  const CUdeviceptr block = block_of(600);
  forget_block(block);
  EXPECT_EQ(entry_at(block), rewriter::kNoBlock);
  EXPECT_EQ(entry_at(block + 1024), rewriter::kNoBlock); // its poison
}

// A context may have its memory somewhere else than the one before.
TEST_F(KernelCheckMemory, TheWindowIsWhereTheContextHasItsMemory) {
  block_of(600);
  leave_table(table().context());
  forget_all_blocks();
  where_memory_is = kElsewhere;
  const CUdeviceptr block = block_of(600);
  EXPECT_GE(block, kElsewhere);
  EXPECT_EQ(entry_at(block), 512);
  EXPECT_EQ(entry_at(block + 1024), rewriter::kPoisonEntry);
  EXPECT_TRUE(reported.plain.empty());
}

TEST_F(KernelCheckMemory, LowAddressesHaveAWindowOfTheirOwn) {
  const CUdeviceptr high = block_of(5000);
  where_memory_is = kLow;
  const CUdeviceptr low = block_of(200 << 10), end = low + (200 << 10);
  if (GMT_IS_SANITIZED && low != kLow)
    GTEST_SKIP() << "the address sanitizer has memory of its own there";
  ASSERT_EQ(low, kLow);
  for (CUdeviceptr at = low; at < end - 512; at += 512)
    ASSERT_GE(entry_at(at), rewriter::kFirstBlock) << at - low;
  EXPECT_EQ(entry_at(end - 512), 512);
  EXPECT_EQ(entry_at(end), rewriter::kPoisonEntry);
  EXPECT_GE(entry_at(high), rewriter::kFirstBlock);
  EXPECT_TRUE(reported.plain.empty());
  CUresult result = CUDA_ERROR_UNKNOWN;
  EXPECT_TRUE(free_block(low, &result));
  for (CUdeviceptr at = low; at < end; at += 512)
    ASSERT_EQ(entry_at(at), rewriter::kFreedEntry) << at - low;
}

// There is as much above as below where the context has its memory, but for 2 GiB.
TEST_F(KernelCheckMemory, TheWindowReachesFarOnBothSides) {
  for (const std::uint64_t where : {kElsewhere, kElsewhere + 0x80000000}) {
    leave_table(table().context());
    forget_all_blocks();
    where_memory_is = where;
    block_of(8);
    const rewriter::Options& placed = table().placed();
    const std::uint64_t reach = rewriter::window_bytes(placed) / 2 - (std::uint64_t{2} << 30);
    EXPECT_TRUE(rewriter::are_covered(placed, where - reach, where + reach)) << std::hex << where;
  }
}

// Each address of the windows has an entry of its own.
TEST_F(KernelCheckMemory, WindowsLieSideBySideInTheTable) {
  block_of(8);
  const rewriter::Options& placed = table().placed();
  const std::uint64_t bytes = rewriter::window_bytes(placed);
  EXPECT_GE(placed.window, bytes);
  EXPECT_EQ(rewriter::entry_address(placed, 0), placed.table);
  EXPECT_EQ(rewriter::entry_address(placed, bytes - 1) + 2,
            rewriter::entry_address(placed, placed.window));
  EXPECT_EQ(rewriter::entry_address(placed, placed.window + bytes - 1) + 2,
            rewriter::slot_address(placed, 0));
  EXPECT_FALSE(rewriter::are_covered(placed, bytes, bytes));
  EXPECT_FALSE(rewriter::are_covered(placed, placed.window - 1, placed.window));
  EXPECT_FALSE(table().covers(0, 65536)); // no memory is there
  EXPECT_EQ(entry_at(0), rewriter::kUnmappedEntry);
  EXPECT_EQ(entry_at(65535), rewriter::kUnmappedEntry);
  EXPECT_EQ(entry_at(65536), rewriter::kNoBlock);
}

TEST_F(KernelCheckMemory, ABlockOutsideOfTheWindowHasItsSize) {
  const CUdeviceptr inside = block_of(600);
  where_memory_is = kElsewhere;
  const CUdeviceptr block = block_of(600);
  ASSERT_EQ(reported.plain.size(), 1u);
  EXPECT_EQ(reported.plain[0].reason, "memory outside of the table's windows counts as right");
  std::size_t bytes = 0;
  EXPECT_TRUE(find_block(block + 8, nullptr, &bytes));
  EXPECT_EQ(bytes, 600u);
  CUresult result = CUDA_ERROR_UNKNOWN;
  EXPECT_FALSE(free_block(block, &result)); // the driver does it
  EXPECT_FALSE(find_block(block, nullptr, nullptr));
  EXPECT_EQ(entry_at(inside), 512);
}

// A thread that the child does not have may have been changing it.
TEST(KernelCheckLasting, WhatAForkedChildLeavesStaysAsItIs) {
  static int destroyed = 0;
  struct Counted {
    int value = 1;
    Counted() = default;
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { ++destroyed; }
  };
  static Lasting<Counted> one; // as in the library: what it leaves stays reachable
  (*one).value = 2;
  const Counted& before = *one;
  one.begin_anew();
  EXPECT_EQ((*one).value, 1);
  EXPECT_EQ(before.value, 2);
  EXPECT_EQ(destroyed, 0);
}

TEST_F(KernelCheckMemory, NothingIsDoneWhileAStreamCaptures) {
  block_of(600); // so that there is a table
  captures.store(1);
  const CUdeviceptr plain = block_of(600);
  captures.store(0);
  EXPECT_EQ(entry_at(plain), rewriter::kNoBlock);
  EXPECT_FALSE(find_block(plain, nullptr, nullptr));
}

} // namespace
} // namespace gmt::interposer::kernel_checks
