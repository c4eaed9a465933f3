// SPDX-License-Identifier: Apache-2.0
// The block store: live blocks by address, references, allocations on top of live blocks, and what
// stays of dead ones.

#include "tests/unit/analyzer/support/store_fixture.h"

namespace gmt::test {
namespace {

using trace::MemoryKind;

class Store : public StoreTest {};

TEST_F(Store, FindsTheBlockAroundAnAddress) {
  const Id id = live(kBase, kSize);
  EXPECT_EQ(store.find_id(Space::kAddress, kBase), id);
  EXPECT_EQ(store.find_id(Space::kAddress, kBase + kSize - 1), id);
  EXPECT_EQ(store.find_id(Space::kAddress, kBase + kSize), kNone);
  EXPECT_EQ(store.find_id(Space::kAddress, kBase - 1), kNone);
  EXPECT_EQ(store.find_exact(Space::kAddress, kBase + 1), kNone);
  EXPECT_EQ(store.find(Space::kAddress, kBase + 8).end, kBase + kSize);
}

TEST_F(Store, AHandleIsAPoint) {
  const Id id = live(0x70, kSize, MemoryKind::kVmmHandle);
  EXPECT_EQ(store.find_exact(Space::kHandle, 0x70), id);
  EXPECT_EQ(store.find_id(Space::kHandle, 0x71), kNone);
  EXPECT_EQ(store.live_containing(0x70), nullptr); // no address
}

TEST_F(Store, MappingsBeforeTheirReservation) {
  live(kBase, 4 * kSize, MemoryKind::kVmmReservation);
  const Id mapping = live(kBase, kSize, MemoryKind::kVmmMapping);
  EXPECT_EQ(store.live_containing(kBase), &store[mapping]);
  EXPECT_EQ(store.live_containing(kBase + kSize)->memory_kind, MemoryKind::kVmmReservation);
}

TEST_F(Store, TheSameHandleAgainIsOneMoreReference) {
  const Id first = live(0x70, kSize, MemoryKind::kVmmHandle);
  EXPECT_EQ(live(0x70, kSize, MemoryKind::kVmmHandle), first);
  EXPECT_EQ(store[first].shape().references, 2u);
  EXPECT_TRUE(store.drop_reference(first));
  EXPECT_FALSE(store.drop_reference(first));
  EXPECT_EQ(store.unseen_frees(), 0u);
}

TEST_F(Store, ABirthOnTheSameBaseEndsTheOlderBlock) {
  const Id first = live(kBase, kSize);
  const Id second = live(kBase, 2 * kSize);
  EXPECT_NE(first, second);
  EXPECT_EQ(store.unseen_frees(), 1u);
  EXPECT_EQ(store.find_id(Space::kAddress, kBase + kSize), second);
}

TEST_F(Store, ABirthOnTopEndsTheOlderBlockAtTheFirstLookUpInside) {
  const Id first = live(kBase, 4 * kSize);
  const Id second = live(kBase + kSize, kSize);
  EXPECT_EQ(store.find_id(Space::kAddress, kBase + kSize), second);
  EXPECT_EQ(store.find_id(Space::kAddress, kBase + 8), kNone);
  EXPECT_EQ(store.find_exact(Space::kAddress, kBase), kNone) << first;
  EXPECT_EQ(store.unseen_frees(), 1u);
  ASSERT_NE(store.find_dead(Space::kAddress, kBase + 8), nullptr);
  EXPECT_EQ(store.find_dead(Space::kAddress, kBase + 8)->end, Block::End::kReallocated);
}

TEST_F(Store, GraphMemoryIsReallocatedQuietly) {
  live(kBase, kSize, MemoryKind::kGraph);
  live(kBase, kSize, MemoryKind::kGraph);
  EXPECT_EQ(store.unseen_frees(), 0u);
}

TEST_F(Store, DeadBlocksKeepTheirStory) {
  const Id id = live(kBase, kSize);
  store.detail_of(store[id]).pitch = 512;
  const Block* dead = free_block(kBase);
  EXPECT_EQ(dead->freed, StackId{9});
  EXPECT_EQ(dead->freed_api, 3);
  EXPECT_EQ(dead->shape().pitch, 512u);
  EXPECT_EQ(store.find_id(Space::kAddress, kBase), kNone);
  EXPECT_EQ(store.find_dead(Space::kAddress, kBase + 100), dead);
  EXPECT_EQ(store.find_dead(Space::kRegistered, kBase), nullptr);
}

TEST_F(Store, TheNewestDeadBlockAnswers) {
  live(kBase, 4 * kSize);
  free_block(kBase);
  live(kBase, kSize, MemoryKind::kPitched);
  free_block(kBase);
  EXPECT_EQ(store.find_dead(Space::kAddress, kBase)->memory_kind, MemoryKind::kPitched);
  EXPECT_EQ(store.find_dead(Space::kAddress, kBase + kSize)->memory_kind, MemoryKind::kDevice);
}

TEST_F(Store, WhatEndedWithItsContextCanBeCorrected) {
  live(kBase, kSize);
  free_block(kBase, Block::End::kContextEnded);
  EXPECT_EQ(store.ended_with_context().size(), 1u);
  store.correct_to_freed(Space::kAddress, kBase);
  EXPECT_EQ(store.find_dead(Space::kAddress, kBase)->end, Block::End::kFreed);
  store.correct_to_freed(Space::kAddress, kBase + kSize); // nothing is there
}

TEST_F(Store, RegionsPushNoOtherFreedBlockOut) {
  live(kBase, kSize);
  const Block* dead = free_block(kBase);
  for (std::uint64_t i = 0; i <= kMaxFreedRegions; ++i) {
    const std::uint64_t address = 2 * kBase + i * kSize;
    const Id id = live(address, kSize, MemoryKind::kTensor);
    store.retire(id, Block::End::kFreed, BlockStore::By{StackId{9}, 3, ++allocations});
  }
  EXPECT_EQ(store.find_dead(Space::kAddress, kBase), dead);
  EXPECT_EQ(store.find_dead(Space::kSubAllocation, 2 * kBase), nullptr); // the oldest
  EXPECT_NE(store.find_dead(Space::kSubAllocation, 2 * kBase + kSize), nullptr);
}

TEST_F(Store, CountsWhatIsUsed) {
  live(kBase, kSize);
  live(kBase + kSize, kSize);
  free_block(kBase);
  EXPECT_EQ(store.use().live_bytes(), kSize);
  EXPECT_EQ(store.use().peak_bytes(), 2 * kSize);
  EXPECT_EQ(store.use().peak_order(), 2u);
}

} // namespace
} // namespace gmt::test
