// SPDX-License-Identifier: Apache-2.0
// The set of CUDA's host memory that free() looks into, and when code that is known is void.
#include "interposer/driver_state/host_blocks.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "interposer/driver_state/code_generation.h"

namespace gmt::interposer {
namespace {

using trace::MemoryKind;

constexpr std::uint64_t kBlock = 0x7f0000001200;

bool may_be(std::uint64_t address) { return may_be_followed(reinterpret_cast<void*>(address)); }

Record allocation(std::uint64_t address, MemoryKind memory) {
  Record record;
  record.kind = trace::Kind::kAlloc;
  record.use(trace::kFirstPayloadWords);
  trace::AllocFields(record).address(address).bytes(64).memory_kind(memory);
  return record;
}

class HostBlocks : public testing::Test {
protected:
  void SetUp() override { forget_host_memory(); }
  void TearDown() override { forget_host_memory(); }
};

TEST_F(HostBlocks, AreThereOnce) {
  EXPECT_FALSE(may_be(kBlock));
  add_host_block(kBlock);
  add_host_block(kBlock);
  EXPECT_EQ(followed_host_blocks.load(), 1u);
  EXPECT_TRUE(may_be(kBlock));
  EXPECT_EQ(absent_host_bits.load(), ~kBlock) << "most pointers have another bit";
  EXPECT_FALSE(may_be(kBlock + 16));
  EXPECT_EQ(remove_host_block(kBlock + 16), 0u);
  EXPECT_EQ(remove_host_block(kBlock), kBlock);
  EXPECT_EQ(remove_host_block(kBlock), 0u);
  EXPECT_FALSE(may_be(kBlock));
  EXPECT_EQ(followed_host_blocks.load(), 0u);
}

TEST_F(HostBlocks, KindsThatFreeMayMeet) {
  const auto known = [](MemoryKind memory) {
    const Record record = allocation(kBlock, memory);
    if (concerns_host_memory(record)) follow_host_memory(record);
    return remove_host_block(kBlock);
  };
  EXPECT_EQ(known(MemoryKind::kPinned), kBlock);
  EXPECT_EQ(known(MemoryKind::kManaged), kBlock);
  EXPECT_EQ(known(MemoryKind::kRegistered), kBlock | kRegistered);
  EXPECT_EQ(known(MemoryKind::kDevice), 0u);
}

TEST_F(HostBlocks, OddAddressesAreNotFollowed) {
  follow_host_memory(allocation(kBlock + 1, MemoryKind::kRegistered));
  EXPECT_EQ(followed_host_blocks.load(), 0u);
  add_host_block(0);
  EXPECT_EQ(followed_host_blocks.load(), 0u);
}

TEST_F(HostBlocks, AReleaseEndsThem) {
  follow_host_memory(allocation(kBlock, MemoryKind::kPinned));
  Record release;
  release.kind = trace::Kind::kFree;
  release.use(trace::FreeWord::kCount);
  trace::FreeFields(release).address(kBlock);
  EXPECT_TRUE(concerns_host_memory(release));
  follow_host_memory(release);
  EXPECT_FALSE(may_be(kBlock));
  EXPECT_FALSE(concerns_host_memory(release)) << "nothing is followed any more";
}

TEST_F(HostBlocks, WhatFindsNoRoomIsNotFollowedAndTheRestStays) {
  constexpr std::uint64_t kMany = 1 << 16;
  for (std::uint64_t i = 0; i < kMany; ++i) add_host_block(kBlock + i * 512);
  const std::uint32_t followed = followed_host_blocks.load();
  EXPECT_GT(followed, 10000u);
  EXPECT_LE(followed, 1u << 14) << "the table's size";
  std::uint32_t found = 0;
  for (std::uint64_t i = 0; i < kMany; ++i) found += remove_host_block(kBlock + i * 512) != 0;
  EXPECT_EQ(found, followed);
  EXPECT_EQ(followed_host_blocks.load(), 0u);
}

TEST_F(HostBlocks, AChildForgetsThemAll) {
  for (std::uint64_t i = 0; i < 100; ++i) add_host_block(kBlock + i * 4096);
  forget_host_memory();
  EXPECT_EQ(followed_host_blocks.load(), 0u);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_FALSE(may_be(kBlock + i * 4096));
}

TEST_F(HostBlocks, ThreadsLoseNone) {
  constexpr std::uint64_t kThreads = 4, kRounds = 2000;
  std::vector<std::thread> threads;
  std::atomic<unsigned> lost{0};
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &lost] {
      const std::uint64_t own = kBlock + (t + 1) * 0x100000;
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        add_host_block(own + i % 8 * 4096);
        lost += remove_host_block(own + i % 8 * 4096) == 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost.load(), 0u);
  EXPECT_EQ(followed_host_blocks.load(), 0u);
}

TEST(CodeGeneration, IsNoneWhileCodeIsUnloadedAndAnotherOneAfterwards) {
  const std::uint64_t before = code_generation();
  EXPECT_NE(before, 0u);
  {
    const UnloadingCode one;
    EXPECT_EQ(code_generation(), 0u);
    {
      const UnloadingCode another;
      EXPECT_EQ(code_generation(), 0u);
    }
    EXPECT_EQ(code_generation(), 0u) << "the first one still runs";
  }
  const std::uint64_t after = code_generation();
  EXPECT_NE(after, 0u);
  EXPECT_NE(after, before);
}

TEST(CodeGeneration, AChildHasNoCallInProgress) {
  {
    const UnloadingCode parents;
    const std::uint64_t before = code_state.load();
    forget_code();
    EXPECT_NE(code_generation(), 0u);
    code_state.store(before);
  }
  EXPECT_NE(code_generation(), 0u);
}

} // namespace
} // namespace gmt::interposer
