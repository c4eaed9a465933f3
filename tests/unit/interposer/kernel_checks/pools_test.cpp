// SPDX-License-Identifier: Apache-2.0
// Memory of pools in the table of valid bytes: what is written there is written in the order of the
// stream that gives it out or frees it.
#include <gtest/gtest.h>

#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/memory.h"
#include "made_up_driver.h"

namespace gmt::interposer::kernel_checks {
namespace {

const auto kStream = reinterpret_cast<CUstream>(0x5000); // NOLINT: a handle

struct KernelCheckPools : testing::Test {
  void SetUp() override {
    begin_made_up_driver();
    where_memory_is = kLow;
  }

  static CUdeviceptr block_of(std::size_t bytes, CUstream stream = kStream) {
    CUdeviceptr address = 0;
    EXPECT_EQ(call_replaced("cuMemAllocAsync", &address, bytes, stream), CUDA_SUCCESS);
    return address;
  }
  static CUresult free(CUdeviceptr address, CUstream stream = kStream) {
    return call_replaced("cuMemFreeAsync", address, stream);
  }
};

TEST_F(KernelCheckPools, ABlockHasItsBytesAndPoisonBehind) {
  const CUdeviceptr block = block_of(1300);
  EXPECT_GE(entry_at(block), rewriter::kFirstBlock);
  EXPECT_EQ(entry_at(block + 512), 512);
  EXPECT_EQ(entry_at(block + 1024), 276);
  EXPECT_EQ(entry_at(block + 1536), rewriter::kPoisonEntry);
  EXPECT_EQ(entry_at(block + 2048), rewriter::kNoBlock);
  std::size_t bytes = 0;
  EXPECT_TRUE(find_block(block + 1299, nullptr, &bytes));
  EXPECT_EQ(bytes, 1300u);
}

TEST_F(KernelCheckPools, EntriesChangeInTheOrderOfTheStream) {
  const CUdeviceptr block = block_of(600);
  are_streams_busy = true;
  EXPECT_EQ(free(block), CUDA_SUCCESS);
  EXPECT_EQ(reported.freed.back(), block);
  EXPECT_FALSE(find_block(block, nullptr, nullptr));
  EXPECT_EQ(entry_at(block), 512); // a kernel that was launched before may still use it
  const CUdeviceptr next = block_of(100);
  EXPECT_EQ(entry_at(next), rewriter::kNoBlock);
  let_streams_go_on();
  EXPECT_EQ(entry_at(block), rewriter::kFreedEntry);
  EXPECT_EQ(entry_at(block + 1024), rewriter::kFreedEntry); // its poison
  EXPECT_EQ(entry_at(next), 100);
  EXPECT_EQ(entry_at(next + 512), rewriter::kPoisonEntry);
}

// Memory of cudaMalloc that lies where a pool had some, and has no entries of its own.
TEST_F(KernelCheckPools, OtherMemoryIsNotWhatWasFreedThere) {
  const CUdeviceptr block = block_of(600);
  EXPECT_EQ(free(block), CUDA_SUCCESS);
  EXPECT_EQ(entry_at(block), rewriter::kFreedEntry);
  begin_again_at(block + 256);
  CUdeviceptr address = 0;
  EXPECT_EQ(allocate(&address, 300), CUDA_SUCCESS);
  EXPECT_EQ(address, block + 256);
  EXPECT_EQ(entry_at(block), rewriter::kNoBlock);
  EXPECT_EQ(entry_at(block + 512), rewriter::kNoBlock);
}

// The marks of a free and of the block before it are still to come, in a stream for which a stream
// of another device waits. What that is given is no freed memory.
TEST_F(KernelCheckPools, AStreamOfAnotherDeviceHasTheLastWord) {
  device_count = 2;
  device_elsewhere = 1;
  has_registered_memory = true;
  const CUdeviceptr first = block_of(600);
  are_streams_busy = true;
  const CUdeviceptr block = block_of(600);
  EXPECT_EQ(free(first), CUDA_SUCCESS);
  EXPECT_EQ(free(block), CUDA_SUCCESS);
  begin_again_at(block);
  EXPECT_EQ(block_of(600, stream_elsewhere), block);
  let_streams_go_on();
  EXPECT_EQ(entry_at(block), rewriter::kNoBlock);
  EXPECT_EQ(entry_at(block + 512), rewriter::kNoBlock);
  const CUdeviceptr later = block_of(600);
  EXPECT_EQ(entry_at(later), rewriter::kNoBlock);
  ASSERT_EQ(reported.plain.size(), 1u);
  EXPECT_EQ(reported.plain[0].reason,
            "memory of pools counts as right from when streams of several devices use it");
}

// A thread's stream ends with it: nothing of the tool's is left there that a program would not
// have.
TEST_F(KernelCheckPools, AThreadsOwnStreamIsLeftIdle) {
  block_of(600);
  EXPECT_TRUE(reported.waited.empty());
  const CUdeviceptr block = block_of(600, CU_STREAM_PER_THREAD);
  EXPECT_EQ(reported.waited, std::vector<CUstream>{CU_STREAM_PER_THREAD});
  free(block, CU_STREAM_PER_THREAD);
  EXPECT_EQ(reported.waited.size(), 2u);
  are_streams_busy = true; // with work of the program
  block_of(600, CU_STREAM_PER_THREAD);
  EXPECT_EQ(reported.waited.size(), 2u);
}

TEST_F(KernelCheckPools, AFreeThatTheDriverRefusesChangesNothing) {
  const CUdeviceptr block = block_of(600);
  EXPECT_EQ(free(block, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(entry_at(block), 512);
  EXPECT_EQ(entry_at(block + 1024), rewriter::kPoisonEntry);
  EXPECT_TRUE(find_block(block, nullptr, nullptr));
}

TEST_F(KernelCheckPools, WhatIsUsedOfAPoolHasNoPoison) {
  const auto pool = reinterpret_cast<CUmemoryPool>(0x7000); // NOLINT: a handle
  const auto used = [pool](CUmemPool_attribute what) {
    cuuint64_t bytes = 0;
    EXPECT_EQ(call_replaced("cuMemPoolGetAttribute", pool, what, static_cast<void*>(&bytes)),
              CUDA_SUCCESS);
    return bytes;
  };
  const CUdeviceptr one = block_of(1024), other = block_of(600);
  EXPECT_EQ(used(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1624u);
  free(one);
  EXPECT_EQ(used(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 600u);
  EXPECT_EQ(used(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1624u);
  cuuint64_t zero = 0;
  EXPECT_EQ(call_replaced("cuMemPoolSetAttribute", pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
                          static_cast<void*>(&zero)),
            CUDA_SUCCESS);
  EXPECT_EQ(used(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 600u);
  free(other);
  EXPECT_EQ(used(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
}

// A pool may give a stream of another context what it freed in one of ours: the mark of the free
// comes first, however late it comes.
TEST_F(KernelCheckPools, MemoryOfAnotherContextIsUnknownBehindTheFree) {
  const CUdeviceptr block = block_of(1300);
  are_streams_busy = true;
  free(block);
  begin_again_at(block);
  ASSERT_EQ(block_of(1300, stream_elsewhere), block);
  EXPECT_GE(entry_at(block), rewriter::kFirstBlock); // the block that was, until the streams go on
  let_streams_go_on();
  for (std::size_t at = 0; at < 1300; at += 512)
    EXPECT_EQ(entry_at(block + at), rewriter::kNoBlock) << at;
}

TEST_F(KernelCheckPools, WhatAnotherContextFreesIsUnknownBehindItsEntries) {
  are_streams_busy = true;
  const CUdeviceptr block = block_of(1300);
  EXPECT_EQ(free(block, stream_elsewhere), CUDA_SUCCESS);
  let_streams_go_on();
  for (std::size_t at = 0; at < 2048; at += 512)
    EXPECT_EQ(entry_at(block + at), rewriter::kNoBlock) << at;
  EXPECT_FALSE(find_block(block, nullptr, nullptr));
}

TEST_F(KernelCheckPools, AThreadsOwnStreamIsAskedSoThatNoCaptureEnds) {
  block_of(600, CU_STREAM_PER_THREAD);
  EXPECT_EQ(reported.asked_in, std::vector{CU_STREAM_CAPTURE_MODE_RELAXED});
}

TEST_F(KernelCheckPools, RestingBlocksAreGivenBackBeforeAPoolIsShort) {
  CUdeviceptr block = 0;
  ASSERT_EQ(allocate(&block, 600), CUDA_SUCCESS);
  CUresult result = CUDA_ERROR_UNKNOWN;
  ASSERT_TRUE(free_block(block, &result));
  reported.freed.clear();
  is_out_of_memory = true;
  EXPECT_EQ(entry_at(block_of(600)), 512); // with its poison
  EXPECT_EQ(reported.freed, std::vector<std::uint64_t>{block});
}

// Its pool gives it out again: it does not rest.
TEST_F(KernelCheckPools, AFreeThatWaitsMarksAndFrees) {
  const CUdeviceptr block = block_of(600);
  CUresult result = CUDA_ERROR_UNKNOWN;
  EXPECT_TRUE(free_block(block, &result));
  EXPECT_EQ(result, CUDA_SUCCESS);
  EXPECT_EQ(reported.freed.back(), block);
  EXPECT_EQ(entry_at(block), rewriter::kFreedEntry);
}

// Memory of graphs is given out at the capture, once for all launches.
TEST_F(KernelCheckPools, MemoryOfGraphsIsUnknown) {
  const CUdeviceptr block = block_of(600);
  free(block);
  ASSERT_EQ(entry_at(block), rewriter::kFreedEntry);
  begin_again_at(block);
  captures.store(1);
  stream_that_captures = kStream;
  const CUdeviceptr of_graph = block_of(1300);
  ASSERT_EQ(of_graph, block);
  for (std::size_t at = 0; at < 1300; at += 512)
    EXPECT_EQ(entry_at(block + at), rewriter::kNoBlock);
  EXPECT_FALSE(find_block(block, nullptr, nullptr));
  const CUdeviceptr other = block_of(600, reinterpret_cast<CUstream>(0x6000)); // NOLINT
  EXPECT_EQ(entry_at(other), 512);
}

// What lies elsewhere than at a multiple of 512 has no entries, and the marks of what was there go.
TEST_F(KernelCheckPools, WhereABlockHasNoEntriesAllIsUnknown) {
  const CUdeviceptr block = block_of(2000);
  free(block);
  begin_again_at(block + 256);
  const CUdeviceptr odd = block_of(600);
  ASSERT_EQ(odd, block + 256);
  EXPECT_EQ(entry_at(block), rewriter::kNoBlock);
  EXPECT_EQ(entry_at(odd + 599), rewriter::kNoBlock);
  EXPECT_EQ(free(odd), CUDA_SUCCESS);
  EXPECT_EQ(entry_at(odd), rewriter::kNoBlock);
}

} // namespace
} // namespace gmt::interposer::kernel_checks
