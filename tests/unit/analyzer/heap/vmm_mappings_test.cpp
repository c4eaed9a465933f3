// SPDX-License-Identifier: Apache-2.0
// Mappings and the physical memory behind them: how long it counts, how large it is, who has
// access.

#include "analyzer/heap/vmm_mappings.h"

#include "tests/unit/analyzer/support/store_fixture.h"

namespace gmt::test {
namespace {

using trace::MemoryKind;

class Mappings : public StoreTest {
protected:
  static constexpr std::uint64_t kHandle = 0x70;

  Id map(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle = kHandle) {
    Block block;
    block.address = address;
    block.bytes = bytes;
    block.memory_kind = MemoryKind::kVmmMapping;
    block.allocated_at = ++allocations & trace::kOrderMask;
    const std::uint64_t physical = mappings.on_mapped(block, handle);
    const Id id = store.create(block);
    store.detail_of(store[id]).physical = physical;
    return store.make_live(id);
  }
  void release() {
    const Id id = store.find_exact(Space::kHandle, kHandle);
    mappings.on_released(
      *store.retire(id, Block::End::kFreed, BlockStore::By{StackId{}, 0, ++allocations}));
  }
  void give_access(std::uint64_t address, std::uint64_t bytes,
                   std::uint16_t flags = trace::kUseReads, std::uint16_t result = 0) {
    mappings.on_access(
      make(Made<trace::UseFields>().address(address).bytes(bytes).use(trace::UseClass::kAccess),
           {.result = result, .flags = flags}));
  }
  VmmMappings mappings{store};
};

TEST_F(Mappings, ReleasedMemoryLivesWhileItIsMapped) {
  live(kHandle, kSize, MemoryKind::kVmmHandle);
  map(kBase, kSize);
  map(kBase + kSize, kSize);
  release();
  EXPECT_EQ(store.use().live_bytes(), kSize);
  mappings.on_unmapped(*free_block(kBase));
  EXPECT_EQ(store.use().live_bytes(), kSize);
  mappings.on_unmapped(*free_block(kBase + kSize));
  EXPECT_EQ(store.use().live_bytes(), 0u);
}

TEST_F(Mappings, MemoryThatIsNotMappedEndsAtItsRelease) {
  live(kHandle, kSize, MemoryKind::kVmmHandle);
  map(kBase, kSize);
  mappings.on_unmapped(*free_block(kBase));
  release();
  EXPECT_EQ(store.use().live_bytes(), 0u);
}

TEST_F(Mappings, AHandleThatIsGivenOutAgainIsOtherMemory) {
  live(kHandle, kSize, MemoryKind::kVmmHandle);
  const Id old = map(kBase, kSize);
  release();
  live(kHandle, 2 * kSize, MemoryKind::kVmmHandle);
  const Id now = map(kBase + kSize, kSize);
  EXPECT_NE(store[old].shape().physical, store[now].shape().physical);
  mappings.on_unmapped(*free_block(kBase));
  EXPECT_EQ(store.use().live_bytes(), 2 * kSize);
}

TEST_F(Mappings, KnowTheirMemoryAndLieWhereItLies) {
  const Id handle = live(kHandle, kSize, MemoryKind::kVmmHandle);
  store[handle].device_slot = 2;
  const Id mapping = map(kBase, kSize);
  EXPECT_EQ(store[mapping].shape().physical, store[handle].allocated_at);
  EXPECT_EQ(store[mapping].device_slot, 2u);
  // A handle that went unseen
  EXPECT_EQ(store[map(kBase + kSize, kSize, 0x99)].shape().physical, 0u);
}

TEST_F(Mappings, AnImportedHandleIsAsLargeAsWhatIsMapped) {
  const Id handle = live(kHandle, 0, MemoryKind::kVmmHandle);
  map(kBase, 2 * kSize);
  EXPECT_EQ(store[handle].bytes, 2 * kSize);
  EXPECT_EQ(store.use().live_bytes(), 2 * kSize);
}

TEST_F(Mappings, OneGrantCoversAllThatLieSideBySide) {
  live(kHandle, 4 * kSize, MemoryKind::kVmmHandle);
  const Id first = map(kBase, kSize), second = map(kBase + kSize, kSize),
           third = map(kBase + 2 * kSize, kSize);
  give_access(kBase, 2 * kSize, 0);
  give_access(kBase, 2 * kSize, trace::kUseReads, 1);
  EXPECT_EQ(store[first].flags & kHadAccess, 0u);
  give_access(kBase, 2 * kSize);
  EXPECT_NE(store[first].flags & kHadAccess, 0u);
  EXPECT_NE(store[second].flags & kHadAccess, 0u);
  EXPECT_EQ(store[third].flags & kHadAccess, 0u);
}

TEST_F(Mappings, OneUnmapCoversAllThatLieSideBySide) {
  live(kHandle, 4 * kSize, MemoryKind::kVmmHandle);
  const Id first = map(kBase, kSize), second = map(kBase + kSize, kSize);
  map(kBase + 3 * kSize, kSize);
  EXPECT_EQ(mappings.mappings_in(kBase, 4 * kSize), (std::vector<Id>{first, second}));
  EXPECT_EQ(mappings.mappings_in(kBase, kSize), std::vector<Id>{first});
  EXPECT_TRUE(mappings.mappings_in(kBase + 8, kSize).empty());
}

} // namespace
} // namespace gmt::test
