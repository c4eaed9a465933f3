// SPDX-License-Identifier: Apache-2.0
// Blocks of device memory in the table of valid bytes, over a driver whose memory is the host's.
#include <gtest/gtest.h>

#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/memory.h"
#include "made_up_driver.h"

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
