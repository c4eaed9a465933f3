// SPDX-License-Identifier: Apache-2.0
// What is known of written memory, over a driver whose memory is the host's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/written.h"
#include "made_up_driver.h"
#include "rewriter/written_table.h"

namespace gmt::interposer::kernel_checks {
namespace {

constexpr std::size_t kBytes = 1000;

struct KernelCheckWritten : testing::Test {
  void SetUp() override {
    settings.checks_written = true;
    begin_made_up_driver();
    end_launches(begun_launches());
    block = block_of(kBytes);
  }
  void TearDown() override { settings = {}; }

  static CUdeviceptr block_of(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(allocate(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  static bool is_written(CUdeviceptr address) {
    std::uint64_t page = 0;
    const std::uint64_t index = rewriter::page_index(table().placed(), address);
    std::memcpy(&page, reinterpret_cast<void*>(table_of_written_pages() + index * 8), 8); // NOLINT
    return *reinterpret_cast<std::uint8_t*>(page + rewriter::offset_in_page(address)) ==
           rewriter::kIsWritten;
  }
  // How many bytes from its first on; the others are not.
  static std::size_t written_bytes(CUdeviceptr begin) {
    std::size_t bytes = 0;
    while (bytes < kBytes && is_written(begin + bytes)) bytes += 4;
    for (std::size_t at = bytes; at < kBytes; at += 4) EXPECT_FALSE(is_written(begin + at)) << at;
    return bytes;
  }
  static bool is_said(std::string_view words) {
    return std::ranges::any_of(reported.plain, [words](const Reported::Plain& plain) {
      return plain.reason.find(words) != std::string::npos;
    });
  }
  CUdeviceptr block = 0;
};

TEST_F(KernelCheckWritten, WhatIsNotFollowedIsSaid) {
  CUdeviceptr managed = 0;
  EXPECT_EQ(call_replaced("cuMemAllocManaged", &managed, kBytes, 1U), CUDA_SUCCESS);
  EXPECT_TRUE(is_written(managed));
  EXPECT_TRUE(is_said("managed memory counts as written"));
  EXPECT_FALSE(is_said("memory of graphs"));
  CUdeviceptr of_graph = 0;
  captures.store(1);
  stream_that_captures = reinterpret_cast<CUstream>(0x5000); // NOLINT: a handle
  EXPECT_EQ(call_replaced("cuMemAllocAsync", &of_graph, kBytes, stream_that_captures),
            CUDA_SUCCESS);
  captures.store(0);
  stream_that_captures = nullptr;
  EXPECT_TRUE(is_said("memory of graphs counts as written"));
}

TEST_F(KernelCheckWritten, ABlockHasUnwrittenBytesAlone) {
  EXPECT_EQ(written_bytes(block), 0u);
  EXPECT_TRUE(is_written(block + kBytes));
  EXPECT_TRUE(is_written(block - 4));
}

TEST_F(KernelCheckWritten, CopiesAndSetsWrite) {
  call_replaced("cuMemcpyHtoD_v2", block, static_cast<const void*>(&block), std::size_t{8});
  EXPECT_EQ(written_bytes(block), 8u);
  call_replaced("cuMemsetD32_v2", block + 8, 0u, std::size_t{10});
  EXPECT_EQ(written_bytes(block), 48u);
  CUDA_MEMCPY2D shape{};
  shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  shape.dstDevice = block + 100;
  call_replaced("cuMemcpy2D_v2", static_cast<const CUDA_MEMCPY2D*>(&shape));
  EXPECT_EQ(written_bytes(block), kBytes);
}

TEST_F(KernelCheckWritten, RowsAreWrittenWithoutWhatLiesBetween) {
  CUDA_MEMCPY2D shape{};
  shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  shape.dstDevice = block;
  shape.dstXInBytes = 8;
  shape.dstY = 1;
  shape.dstPitch = 100;
  shape.WidthInBytes = 10;
  shape.Height = 3;
  call_replaced("cuMemcpy2D_v2", static_cast<const CUDA_MEMCPY2D*>(&shape));
  call_replaced("cuMemsetD2D8_v2", block + 500, std::size_t{40}, static_cast<unsigned char>(0),
                std::size_t{4}, std::size_t{2});
  for (std::size_t at = 0; at < kBytes; at += 4) {
    const bool is_copied = at >= 100 && at < 400 && at % 100 >= 8 && at % 100 < 20;
    EXPECT_EQ(is_written(block + at), is_copied || at == 500 || at == 540) << at;
  }
  // Slices of a copy in three dimensions
  const CUdeviceptr cube = block_of(kBytes);
  CUDA_MEMCPY3D copy{};
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = cube;
  copy.dstY = 1;
  copy.dstZ = 2;
  copy.dstPitch = 20;
  copy.dstHeight = 4;
  copy.WidthInBytes = 4;
  copy.Height = 2;
  copy.Depth = 3;
  call_replaced("cuMemcpy3D_v2", static_cast<const CUDA_MEMCPY3D*>(&copy));
  for (std::size_t at = 0; at < kBytes; at += 4) {
    const std::size_t row = at / 20 % 4, slice = at / 80;
    const bool is_copied = at % 20 == 0 && row >= 1 && row < 3 && slice >= 2 && slice < 5;
    EXPECT_EQ(is_written(cube + at), is_copied) << at;
  }
  // Rows that lie on two pages of states
  const CUdeviceptr large = block_of(20 << 20);
  constexpr std::size_t kPitch = 6 << 20;
  call_replaced("cuMemsetD2D8_v2", large, kPitch, static_cast<unsigned char>(0), kPitch - 8,
                std::size_t{3});
  for (std::size_t row = 0; row < 3; ++row) {
    for (const std::size_t at : {std::size_t{0}, kPitch / 3, kPitch - 12})
      EXPECT_TRUE(is_written(large + row * kPitch + at)) << row << " " << at;
    EXPECT_FALSE(is_written(large + row * kPitch + kPitch - 8)) << row;
  }
}

// Kernels may still read it when its stream frees it: it is followed until other memory is there.
TEST_F(KernelCheckWritten, MemoryOfAPoolIsFollowed) {
  const auto stream = reinterpret_cast<CUstream>(0x5000); // NOLINT: a handle
  const auto ordered = [stream](std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(call_replaced("cuMemAllocAsync", &address, bytes, stream), CUDA_SUCCESS);
    return address;
  };
  const CUdeviceptr first = ordered(kBytes);
  EXPECT_EQ(written_bytes(first), 0u);
  call_replaced("cuMemcpyHtoD_v2", first, static_cast<const void*>(&block), std::size_t{8});
  EXPECT_EQ(written_bytes(first), 8u);
  EXPECT_EQ(call_replaced("cuMemFreeAsync", first, stream), CUDA_SUCCESS);
  EXPECT_EQ(written_bytes(first), 8u);
  begin_again_at(first);
  EXPECT_EQ(ordered(100), first);
  EXPECT_FALSE(is_written(first));
  EXPECT_TRUE(is_written(first + 100));
  EXPECT_EQ(call_replaced("cuMemFreeAsync", first, stream), CUDA_SUCCESS);
  begin_launch();
  begin_again_at(first);
  EXPECT_EQ(ordered(100), first); // while a kernel may run
  EXPECT_EQ(written_bytes(first), kBytes);
  end_launches(begun_launches());
  is_memory_hosts = true; // which may write it unseen
  EXPECT_EQ(written_bytes(ordered(kBytes)), kBytes);
}

// Kernels that get it ask no more.
TEST_F(KernelCheckWritten, TheBoundsSayThatAllOfABlockIsWritten) {
  const auto says_so = [](CUdeviceptr begin) {
    const std::uint64_t at = rewriter::slot_address(table().placed(), find_live(begin)->slot);
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<void*>(at), sizeof word); // NOLINT: an address
    EXPECT_EQ(word & ~rewriter::kIsWhollyWritten, begin);
    return (word & rewriter::kIsWhollyWritten) != 0;
  };
  const CUdeviceptr large = block_of(4096);
  EXPECT_FALSE(says_so(large));
  call_replaced("cuMemsetD32_v2", large, 0u, std::size_t{1000});
  EXPECT_FALSE(says_so(large));
  call_replaced("cuMemsetD32_v2", large, 0u, std::size_t{1024});
  EXPECT_TRUE(says_so(large));
}

TEST_F(KernelCheckWritten, WhatOthersMayWriteIsWritten) {
  const CUdeviceptr other = block_of(kBytes);
  call_replaced("cuIpcGetMemHandle", static_cast<CUipcMemHandle*>(nullptr), block);
  EXPECT_EQ(written_bytes(block), kBytes);
  EXPECT_EQ(written_bytes(other), 0u);
  call_replaced("cuStreamBatchMemOp_v2", CUstream{}, 0u,
                static_cast<CUstreamBatchMemOpParams*>(nullptr), 0u);
  EXPECT_EQ(written_bytes(other), kBytes);
  EXPECT_EQ(written_bytes(block_of(kBytes)), kBytes); // it may still run
  EXPECT_TRUE(is_said("while kernels may run"));
  end_launches(begun_launches());
  EXPECT_EQ(written_bytes(block_of(kBytes)), 0u);
}

TEST_F(KernelCheckWritten, AnotherContextHasNoOrder) {
  stop_following_writes("another one");
  EXPECT_EQ(written_bytes(block), kBytes);
  end_launches(begun_launches());
  EXPECT_EQ(written_bytes(block_of(kBytes)), kBytes);
  EXPECT_TRUE(is_said("another one"));
}

// Other memory may come to lie there.
TEST_F(KernelCheckWritten, AFreedBlockIsWritten) {
  CUresult result = CUDA_ERROR_UNKNOWN;
  EXPECT_TRUE(free_block(block, &result));
  EXPECT_EQ(written_bytes(block), kBytes);
}

// Of a page for each 8 MiB; the second block needs no new one.
TEST_F(KernelCheckWritten, BlocksAcrossPages) {
  constexpr std::size_t kLarge = std::size_t{20} << 20;
  const CUdeviceptr large = block_of(kLarge);
  for (std::size_t at = 0; at < kLarge; at += 4096) ASSERT_FALSE(is_written(large + at)) << at;
  mark_written(large + 4096, kLarge - 8192);
  for (std::size_t at = 4096; at < kLarge - 4096; at += 4096)
    ASSERT_TRUE(is_written(large + at)) << at;
  EXPECT_FALSE(is_written(large + 4092));
  EXPECT_FALSE(is_written(large + kLarge - 4096));
}

} // namespace
} // namespace gmt::interposer::kernel_checks
