// SPDX-License-Identifier: Apache-2.0
// States of bytes: of small ranges with odd ends, and of ranges so large that their shadow is
// mapped instead of written.
#include "simulated_cuda/executor/machine/memory.h"

#include <gtest/gtest.h>

namespace gmt::executor {
namespace {

constexpr std::uint64_t kBase = 0x700000000000ull;

class MemoryTest : public testing::Test {
protected:
  MemoryTest() { EXPECT_TRUE(memory_.add_region(kBase, std::uint64_t{8} << 30, nullptr)); }
  Memory memory_;
};

TEST_F(MemoryTest, EndsOfARangeAreExact) {
  memory_.allocate(kBase + 3, 10);
  EXPECT_EQ(memory_.state(kBase + 2), ByteState::kNothing);
  EXPECT_EQ(memory_.state(kBase + 3), ByteState::kUninitialized);
  EXPECT_EQ(memory_.state(kBase + 12), ByteState::kUninitialized);
  EXPECT_EQ(memory_.state(kBase + 13), ByteState::kNothing);
  memory_.mark_initialized(kBase, 100);
  EXPECT_EQ(memory_.state(kBase + 12), ByteState::kInitialized);
  EXPECT_EQ(memory_.state(kBase + 13), ByteState::kNothing);
  EXPECT_EQ(memory_.first_uninitialized(kBase + 3, 20), kBase + 13);
  memory_.free(kBase + 3, 10);
  EXPECT_EQ(memory_.state(kBase + 5), ByteState::kFreed);
  memory_.forget(kBase + 3, 10);
  EXPECT_EQ(memory_.state(kBase + 5), ByteState::kNothing);
}

TEST_F(MemoryTest, LargeRangesChangeAsSmallOnesDo) {
  const std::uint64_t from = kBase + 4096 + 5, bytes = (std::uint64_t{6} << 30) + 7;
  memory_.allocate(from, bytes);
  for (const std::uint64_t at : {from, from + bytes / 2, from + bytes - 1})
    EXPECT_EQ(memory_.state(at), ByteState::kUninitialized);
  EXPECT_EQ(memory_.state(from - 1), ByteState::kNothing);
  EXPECT_EQ(memory_.state(from + bytes), ByteState::kNothing);
  memory_.mark_initialized(from + (1 << 20), 4096);
  EXPECT_EQ(memory_.first_uninitialized(from + (1 << 20), 8192), from + (1 << 20) + 4096);
  EXPECT_EQ(memory_.state(from + (3 << 20)), ByteState::kUninitialized);
  memory_.free(from, bytes);
  EXPECT_EQ(memory_.state(from + (1 << 20)), ByteState::kFreed);
  memory_.forget(from, bytes);
  EXPECT_EQ(memory_.state(from + bytes / 2), ByteState::kNothing);
}

// Small shadows are no mappings of their own, and regions are found wherever they were put.
TEST_F(MemoryTest, ManySmallRegions) {
  constexpr std::uint64_t kFirst = 0x10000000ull, kApart = 4096, kRegions = 20000;
  const auto base_of = [](std::uint64_t i) { return kFirst + kApart * ((i * 7919) % kRegions); };
  for (std::uint64_t i = 0; i < kRegions; ++i)
    ASSERT_TRUE(memory_.add_host_memory(base_of(i), 100, nullptr));
  EXPECT_FALSE(memory_.add_region(base_of(5) + 96, 4, nullptr)); // overlaps
  for (std::uint64_t i = 0; i < kRegions; i += 997) {
    EXPECT_EQ(memory_.state(base_of(i) + 99), ByteState::kInitialized);
    EXPECT_EQ(memory_.state(base_of(i) + 100), ByteState::kNothing);
  }
  for (std::uint64_t i = 0; i < kRegions; i += 2) memory_.remove_region(base_of(i));
  EXPECT_EQ(memory_.state(base_of(2)), ByteState::kNothing);
  EXPECT_EQ(memory_.state(base_of(3)), ByteState::kInitialized);
  ASSERT_TRUE(memory_.add_region(base_of(2), 64, nullptr));
  EXPECT_EQ(memory_.state(base_of(2)), ByteState::kNothing); // whatever its shadow held before
}

TEST_F(MemoryTest, CopiesMoveStates) {
  memory_.allocate(kBase, 64);
  memory_.allocate(kBase + 128, 64);
  memory_.mark_initialized(kBase, 21);
  memory_.copy_state(kBase + 128, kBase, 64);
  EXPECT_EQ(memory_.first_uninitialized(kBase + 128, 64), kBase + 128 + 21);
  memory_.copy_state(kBase + 131, kBase + 1, 30);
  EXPECT_EQ(memory_.first_uninitialized(kBase + 128, 64), kBase + 131 + 20);
}

TEST_F(MemoryTest, RegionsDoNotOverlap) {
  EXPECT_FALSE(memory_.add_region(kBase + 4096, 64, nullptr));
  EXPECT_EQ(memory_.region_of(kBase - 1), nullptr);
  std::byte host[64];
  EXPECT_TRUE(memory_.add_host_memory(0x1003, 61, host + 3));
  EXPECT_EQ(memory_.state(0x1003), ByteState::kInitialized);
  memory_.remove_region(0x1003);
  EXPECT_EQ(memory_.region_of(0x1003), nullptr);
}

} // namespace
} // namespace gmt::executor
