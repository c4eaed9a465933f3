// SPDX-License-Identifier: Apache-2.0
// Several contexts: which of them share a table, what stands in the tables of other devices, and
// what is left when one of them ends. Memory of another process.
#include <gtest/gtest.h>

#include <cstring>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/memory.h"
#include "made_up_driver.h"

namespace gmt::interposer::kernel_checks {
namespace {

struct KernelCheckContexts : testing::Test {
  void SetUp() override {
    begin_made_up_driver();
    driver.current(&first_context);
    ASSERT_TRUE(has_table());
  }
  void TearDown() override {
    for (unsigned table : {0u, 1u}) end_launches(begun_launches(table), table);
  }

  static CUdeviceptr block() {
    CUdeviceptr address = 0;
    EXPECT_EQ(allocate(&address, 600), CUDA_SUCCESS);
    return address;
  }
  static CUdeviceptr block_elsewhere() {
    const Work work(other_context);
    return block();
  }
  static void free_elsewhere(CUdeviceptr address) {
    const Work work(other_context);
    CUresult result = CUDA_ERROR_UNKNOWN;
    EXPECT_TRUE(free_block(address, &result));
    EXPECT_EQ(result, CUDA_SUCCESS);
  }
  static void on_another_device() {
    device_count = 2;
    device_elsewhere = 1;
  }
  static std::int16_t entry_in(const Table& table, CUdeviceptr address) {
    const CUdeviceptr at = rewriter::entry_address(table.placed(), address);
    std::int16_t entry = 0;
    std::memcpy(&entry, reinterpret_cast<const void*>(at), sizeof entry); // NOLINT
    return entry;
  }
  Table& first() const { return *table_of(first_context); }
  static Table& other() { return *table_of(other_context); }

  CUcontext first_context = nullptr;
};

TEST_F(KernelCheckContexts, ThoseOfADeviceShareATable) {
  const CUdeviceptr own = block(), others = block_elsewhere();
  EXPECT_TRUE(other().shares_memory_with(first()));
  EXPECT_TRUE(first().is_writer());
  EXPECT_FALSE(other().is_writer());
  EXPECT_EQ(entry_in(first(), own), 512);
  EXPECT_EQ(entry_in(first(), others), 512);
  EXPECT_EQ(find_live(others)->table, other().index());
}

// What the other ones have stays, and they go on writing.
TEST_F(KernelCheckContexts, WhatAnEndedOneHadIsForgotten) {
  const CUdeviceptr own = block(), others = block_elsewhere(), freed = block_elsewhere();
  free_elsewhere(freed);
  EXPECT_EQ(entry_in(first(), freed), rewriter::kFreedEntry);
  EXPECT_EQ(call_replaced("cuCtxDestroy_v2", first_context), CUDA_SUCCESS);
  EXPECT_EQ(table_of(first_context), nullptr);
  EXPECT_TRUE(other().is_writer());
  EXPECT_EQ(entry_in(other(), own), rewriter::kNoBlock);
  EXPECT_EQ(entry_in(other(), others), 512);
  EXPECT_FALSE(find_block(own, nullptr, nullptr));
  EXPECT_TRUE(find_block(others, nullptr, nullptr));
  EXPECT_EQ(entry_in(other(), block_elsewhere()), 512);
  EXPECT_EQ(entry_in(other(), block()), 512); // the handle is another context's now
}

// To load the tool's code may wait for kernels of other contexts, and these for the host.
TEST_F(KernelCheckContexts, NoneGetsATableWhileKernelsOfAnotherMayRun) {
  begin_launch(first().index());
  const CUdeviceptr early = block_elsewhere();
  EXPECT_EQ(table_of(other_context), nullptr);
  EXPECT_EQ(entry_in(first(), early), rewriter::kNoBlock);
  end_launches(begun_launches(first().index()), first().index());
  const CUdeviceptr late = block_elsewhere();
  ASSERT_NE(table_of(other_context), nullptr);
  EXPECT_EQ(entry_in(other(), late), 512);
}

TEST_F(KernelCheckContexts, EachDeviceHasATable) {
  on_another_device();
  const CUdeviceptr own = block(), others = block_elsewhere();
  EXPECT_FALSE(other().shares_memory_with(first()));
  EXPECT_EQ(entry_in(first(), own), 512);
  EXPECT_EQ(entry_in(first(), others), rewriter::kNoBlock);
  EXPECT_EQ(entry_in(other(), own), rewriter::kNoBlock);
  EXPECT_EQ(entry_in(other(), others), 512);
}

TEST_F(KernelCheckContexts, PeersSeeBlocks) {
  on_another_device();
  const CUdeviceptr early = block_elsewhere();
  EXPECT_EQ(call_replaced("cuCtxEnablePeerAccess", other_context, 0u), CUDA_SUCCESS);
  const CUdeviceptr late = block_elsewhere();
  EXPECT_EQ(entry_in(first(), early), 512);
  EXPECT_EQ(entry_in(first(), late), 512);
  EXPECT_EQ(entry_in(first(), late + 1024), rewriter::kPoisonEntry);
  EXPECT_EQ(entry_in(other(), block()), rewriter::kNoBlock); // the other way there is no access
  free_elsewhere(late);
  EXPECT_EQ(entry_in(first(), late), rewriter::kFreedEntry);
  EXPECT_EQ(call_replaced("cuCtxDisablePeerAccess", other_context), CUDA_SUCCESS);
  EXPECT_EQ(entry_in(first(), early), rewriter::kNoBlock);
}

// The driver waits for those of the block's own context.
TEST_F(KernelCheckContexts, WhatKernelsOfAPeerMayStillUseIsUnknownThere) {
  on_another_device();
  EXPECT_EQ(call_replaced("cuCtxEnablePeerAccess", other_context, 0u), CUDA_SUCCESS);
  const CUdeviceptr freed = block_elsewhere();
  begin_launch(first().index());
  free_elsewhere(freed);
  EXPECT_EQ(entry_in(first(), freed), rewriter::kNoBlock);
  EXPECT_EQ(entry_in(other(), freed), rewriter::kFreedEntry);
}

TEST_F(KernelCheckContexts, AWaitIsForItsContextAlone) {
  on_another_device();
  block_elsewhere();
  begin_launch(first().index());
  begin_launch(other().index());
  EXPECT_EQ(call_replaced("cuCtxSynchronize"), CUDA_SUCCESS);
  EXPECT_FALSE(may_run(first().index()));
  EXPECT_TRUE(may_run(other().index()));
  EXPECT_TRUE(may_any_run());
}

TEST_F(KernelCheckContexts, MemoryOfTheHostIsEachDevices) {
  on_another_device();
  CUdeviceptr early = 0, late = 0;
  EXPECT_EQ(call_replaced("cuMemAllocManaged", &early, std::size_t{600}, 1u), CUDA_SUCCESS);
  block_elsewhere();
  EXPECT_EQ(call_replaced("cuMemAllocManaged", &late, std::size_t{600}, 1u), CUDA_SUCCESS);
  for (const CUdeviceptr at : {early, late}) {
    EXPECT_EQ(entry_in(other(), at), 512);
    EXPECT_EQ(entry_in(other(), at + 1024), rewriter::kPoisonEntry);
  }
  free_elsewhere(late);
  EXPECT_EQ(entry_in(first(), late), rewriter::kUnmappedEntry);
  EXPECT_EQ(entry_in(other(), late), rewriter::kUnmappedEntry);
  // The driver may wait for the other device's kernels, which use it rightly then.
  begin_launch(other().index());
  EXPECT_EQ(call_replaced("cuMemFree_v2", early), CUDA_SUCCESS);
  EXPECT_EQ(entry_in(other(), early), rewriter::kNoBlock);
}

// Before another device has a table, and behind.
TEST_F(KernelCheckContexts, ReservedAddressesAreEachDevices) {
  constexpr CUdeviceptr kReserved = 0x40000000;
  constexpr std::size_t kPiece = std::size_t{2} << 20;
  on_another_device();
  CUdeviceptr address = 0;
  is_address_given = true;
  EXPECT_EQ(
    call_replaced("cuMemAddressReserve", &address, 2 * kPiece, std::size_t{0}, kReserved, 0ull),
    CUDA_SUCCESS);
  is_address_given = false;
  const auto map = [](CUdeviceptr at) {
    EXPECT_EQ(
      call_replaced("cuMemMap", at, kPiece, std::size_t{0}, CUmemGenericAllocationHandle{1}, 0ull),
      CUDA_SUCCESS);
  };
  map(kReserved);
  block_elsewhere();
  EXPECT_GE(entry_in(other(), kReserved), rewriter::kFirstBlock);
  EXPECT_EQ(entry_in(other(), kReserved + kPiece), rewriter::kUnmappedEntry);
  map(kReserved + kPiece);
  EXPECT_GE(entry_in(other(), kReserved + kPiece), rewriter::kFirstBlock);
  EXPECT_GE(entry_in(first(), kReserved + kPiece), rewriter::kFirstBlock);
}

// A process says behind its block how large that is.
TEST_F(KernelCheckContexts, MemoryOfAnotherProcessHasItsSize) {
  const CUdeviceptr own = block();
  const std::size_t room = with_poison(600);
  CUdeviceptr opened = 0, theirs = 0;
  EXPECT_EQ(driver.allocate(&theirs, room), CUDA_SUCCESS);
  const auto open = [&] {
    range_of_memory = {theirs, room};
    opened_memory = theirs;
    EXPECT_EQ(call_replaced("cuIpcOpenMemHandle_v2", &opened, CUipcMemHandle{}, 0u), CUDA_SUCCESS);
  };
  open();
  EXPECT_FALSE(find_block(theirs, nullptr, nullptr)); // nothing is said
  CUipcMemHandle handle{};
  range_of_memory = {own, room};
  EXPECT_EQ(call_replaced("cuIpcGetMemHandle", &handle, own), CUDA_SUCCESS);
  std::memcpy(reinterpret_cast<void*>(theirs), reinterpret_cast<const void*>(own), room); // NOLINT
  std::size_t bytes = 0;
  for (int i = 0; i < 2; ++i) open();
  EXPECT_TRUE(find_block(theirs, nullptr, &bytes));
  EXPECT_EQ(bytes, 600u);
  EXPECT_EQ(entry_at(theirs), 512);
  EXPECT_EQ(entry_at(theirs + 1024), rewriter::kPoisonEntry);
  CUresult result = CUDA_ERROR_UNKNOWN;
  EXPECT_EQ(call_replaced("cuIpcCloseMemHandle", theirs), CUDA_SUCCESS);
  EXPECT_EQ(entry_at(theirs), 512); // it was opened twice
  EXPECT_EQ(call_replaced("cuIpcCloseMemHandle", theirs), CUDA_SUCCESS);
  EXPECT_EQ(entry_at(theirs), rewriter::kNoBlock);
  EXPECT_EQ(entry_at(theirs + 1024), rewriter::kNoBlock);
  open();
  EXPECT_FALSE(free_block(theirs, &result)); // the driver has to answer
  EXPECT_EQ(entry_at(theirs), rewriter::kNoBlock);
}

} // namespace
} // namespace gmt::interposer::kernel_checks
