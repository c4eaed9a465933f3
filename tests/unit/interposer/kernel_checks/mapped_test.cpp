// SPDX-License-Identifier: Apache-2.0
// Addresses that are reserved, mapped and registered, in the table of valid bytes.
#include <gtest/gtest.h>

#include <cstdint>
#include <sys/mman.h>

#include "interposer/kernel_checks/library/mapped.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "made_up_driver.h"

namespace gmt::interposer::kernel_checks {
namespace {

constexpr std::size_t kPiece = std::size_t{2} << 20;
// In the lower window, and where the address sanitizer leaves room.
constexpr CUdeviceptr kReserved = 0x40000000;

struct KernelCheckMapped : testing::Test {
  void SetUp() override {
    begin_made_up_driver();
    where_memory_is = kLow;
    ASSERT_TRUE(has_table());
  }

  static CUresult map(CUdeviceptr address) {
    return call_replaced("cuMemMap", address, kPiece, std::size_t{0},
                         CUmemGenericAllocationHandle{1}, 0ull);
  }
  static CUresult unmap(CUdeviceptr address, std::size_t bytes = kPiece) {
    return call_replaced("cuMemUnmap", address, bytes);
  }
  // The driver gives the address that was asked for.
  static void reserve() {
    is_address_given = true;
    CUdeviceptr address = 0;
    EXPECT_EQ(
      call_replaced("cuMemAddressReserve", &address, 4 * kPiece, std::size_t{0}, kReserved, 0ull),
      CUDA_SUCCESS);
    is_address_given = false;
    EXPECT_EQ(address, kReserved);
  }
};

TEST_F(KernelCheckMapped, WhatIsReservedAndNotMappedWouldFault) {
  reserve();
  EXPECT_EQ(entry_at(kReserved), rewriter::kUnmappedEntry);
  EXPECT_EQ(map(kReserved), CUDA_SUCCESS);
  EXPECT_GE(entry_at(kReserved), rewriter::kFirstBlock);
  EXPECT_EQ(entry_at(kReserved + kPiece - 1), 512);
  EXPECT_EQ(entry_at(kReserved + kPiece), rewriter::kUnmappedEntry);
  EXPECT_FALSE(was_released(kReserved + 2 * kPiece));
  EXPECT_EQ(unmap(kReserved), CUDA_SUCCESS);
  EXPECT_EQ(entry_at(kReserved), rewriter::kUnmappedEntry);
  EXPECT_TRUE(was_released(kReserved));
  EXPECT_FALSE(was_released(kReserved + kPiece));
  EXPECT_EQ(map(kReserved), CUDA_SUCCESS);
  EXPECT_FALSE(was_released(kReserved));
  EXPECT_EQ(call_replaced("cuMemAddressFree", kReserved, 4 * kPiece), CUDA_SUCCESS);
  EXPECT_EQ(entry_at(kReserved + 3 * kPiece), rewriter::kNoBlock);
}

TEST_F(KernelCheckMapped, WhatTheDriverRefusesToUnmapStaysRight) {
  reserve();
  EXPECT_EQ(map(kReserved), CUDA_SUCCESS);
  EXPECT_EQ(unmap(kReserved, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_GE(entry_at(kReserved), rewriter::kFirstBlock);
  EXPECT_FALSE(was_released(kReserved));
}

// Pointers to what is mapped have its bounds, and of what lies outside the table is asked.
TEST_F(KernelCheckMapped, PiecesSideBySideHaveCommonBounds) {
  const auto expect_bounds = [](CUdeviceptr begin, CUdeviceptr end) {
    const rewriter::Block bounds = bounds_at(begin);
    EXPECT_EQ(bounds.begin & ~rewriter::kIsWhollyWritten, begin); // set where `init` follows writes
    EXPECT_EQ(bounds.end, end | rewriter::kTableDecides);
  };
  reserve();
  for (CUdeviceptr piece = 0; piece < 3; ++piece)
    EXPECT_EQ(map(kReserved + piece * kPiece), CUDA_SUCCESS);
  const std::int16_t name = entry_at(kReserved);
  EXPECT_EQ(entry_at(kReserved + kPiece), name);
  EXPECT_EQ(entry_at(kReserved + 3 * kPiece - 513), name);
  EXPECT_EQ(entry_at(kReserved + 3 * kPiece - 512), 512);
  expect_bounds(kReserved, kReserved + 3 * kPiece);

  EXPECT_EQ(unmap(kReserved + kPiece), CUDA_SUCCESS);
  expect_bounds(kReserved, kReserved + kPiece);
  EXPECT_EQ(entry_at(kReserved + kPiece - 512), 512);
  expect_bounds(kReserved + 2 * kPiece, kReserved + 3 * kPiece);
  EXPECT_EQ(unmap(kReserved), CUDA_SUCCESS);
  EXPECT_EQ(unmap(kReserved + 2 * kPiece), CUDA_SUCCESS);
  for (CUdeviceptr piece = 0; piece < 3; ++piece)
    EXPECT_EQ(entry_at(kReserved + piece * kPiece), rewriter::kUnmappedEntry);
}

// Only granules that hold nothing else: other memory may share the first and the last one.
TEST_F(KernelCheckMapped, MemoryThatIsNoLongerRegisteredWouldFault) {
  auto* memory = reinterpret_cast<void*>(kReserved + 100); // NOLINT
  has_registered_memory = true;
  for (const bool reads : {true, false}) {
    reads_pageable_memory = reads;
    EXPECT_EQ(call_replaced("cuMemHostRegister_v2", memory, std::size_t{2000}, 0u), CUDA_SUCCESS);
    EXPECT_EQ(entry_at(kReserved + 512), rewriter::kNoBlock);
    EXPECT_EQ(call_replaced("cuMemHostUnregister", memory), CUDA_SUCCESS);
    EXPECT_EQ(entry_at(kReserved), rewriter::kNoBlock);
    EXPECT_EQ(entry_at(kReserved + 512), reads ? rewriter::kNoBlock : rewriter::kUnmappedEntry);
    EXPECT_EQ(entry_at(kReserved + 2048), rewriter::kNoBlock);
    EXPECT_EQ(was_released(kReserved + 600), !reads);
  }
  EXPECT_EQ(call_replaced("cuMemHostRegister_v2", memory, std::size_t{2000}, 0u), CUDA_SUCCESS);
  EXPECT_EQ(entry_at(kReserved + 512), rewriter::kNoBlock);
}

// The host's memory that is gone may have become the driver's.
TEST_F(KernelCheckMapped, WhatTheHostCannotReadMayBelongToOtherMemory) {
  void* const memory =
    mmap(reinterpret_cast<void*>(kReserved), 4096, PROT_READ | PROT_WRITE, // NOLINT
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(reinterpret_cast<std::uint64_t>(memory), kReserved);
  has_registered_memory = true;
  reads_pageable_memory = false;
  EXPECT_EQ(call_replaced("cuMemHostRegister_v2", memory, std::size_t{4096}, 0u), CUDA_SUCCESS);
  EXPECT_EQ(call_replaced("cuMemHostUnregister", memory), CUDA_SUCCESS);
  forget_unmapped_host();
  EXPECT_EQ(entry_at(kReserved), rewriter::kUnmappedEntry);
  EXPECT_TRUE(was_released(kReserved));
  munmap(memory, 4096);
  forget_unmapped_host();
  EXPECT_EQ(entry_at(kReserved), rewriter::kNoBlock);
  EXPECT_FALSE(was_released(kReserved));
}

// ---- freed managed memory

class KernelCheckFreedManaged : public KernelCheckMapped {
protected:
  // Its address.
  static CUdeviceptr free_some() {
    CUdeviceptr address = 0;
    EXPECT_EQ(call_replaced("cuMemAllocManaged", &address, std::size_t{3000}, 1u), CUDA_SUCCESS);
    EXPECT_GE(entry_at(address), rewriter::kFirstBlock);
    EXPECT_EQ(call_replaced("cuMemFree_v2", address), CUDA_SUCCESS);
    return address;
  }
};

TEST_F(KernelCheckFreedManaged, WouldFault) {
  for (const bool reads : {true, false}) {
    reads_pageable_memory = reads;
    const CUdeviceptr address = free_some();
    const auto expected = reads ? rewriter::kNoBlock : rewriter::kUnmappedEntry;
    EXPECT_EQ(entry_at(address), expected);
    EXPECT_EQ(entry_at(address + 2999), expected);
    EXPECT_EQ(was_released(address + 600), !reads);
    EXPECT_EQ(reported.freed.back(), address); // at once: the host's mistakes fault, too
  }
}

TEST_F(KernelCheckFreedManaged, OtherMemoryThereIsRight) {
  for (const bool is_managed : {false, true}) {
    const CUdeviceptr address = free_some();
    begin_again_at(address);
    CUdeviceptr other = 0;
    const std::size_t bytes = 2000;
    EXPECT_EQ(is_managed ? call_replaced("cuMemAllocManaged", &other, bytes, 1u)
                         : call_replaced("cuMemAlloc_v2", &other, bytes),
              CUDA_SUCCESS);
    ASSERT_EQ(other, address);
    const std::int16_t entry = entry_at(address);
    EXPECT_GE(entry, rewriter::kFirstBlock);
    EXPECT_EQ(entry_at(address + 2999), rewriter::kUnmappedEntry);
    // The driver may place variables in the rest, and not in the new block.
    forget_unmapped_host();
    EXPECT_EQ(entry_at(address), entry);
    EXPECT_EQ(entry_at(address + 2999), rewriter::kNoBlock);
  }
}

TEST_F(KernelCheckFreedManaged, IsForgottenWhereCodeIsLoaded) {
  replace_code();
  const CUdeviceptr address = free_some();
  CUmodule module = nullptr;
  EXPECT_EQ(call_replaced("cuModuleLoadData", &module, static_cast<const void*>("no text")), 0);
  EXPECT_EQ(entry_at(address), rewriter::kNoBlock);
  EXPECT_FALSE(was_released(address));
}

// Of a module that was loaded before: lazily, so that its variables have no place yet.
TEST_F(KernelCheckFreedManaged, IsForgottenWhereAVariableIsAskedFor) {
  const CUdeviceptr address = free_some();
  EXPECT_EQ(entry_at(address), rewriter::kUnmappedEntry);
  CUdeviceptr variable = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(call_replaced("cuModuleGetGlobal_v2", &variable, &bytes, CUmodule{}, "count"), 0);
  EXPECT_EQ(entry_at(address), rewriter::kNoBlock);
}

} // namespace
} // namespace gmt::interposer::kernel_checks
