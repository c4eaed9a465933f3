// SPDX-License-Identifier: Apache-2.0
// What copies, sets and uses name, and whether they stay inside of it. Nothing in the heap changes.

#include "analyzer/heap/verdicts/range_verdicts.h"

#include "tests/unit/analyzer/support/store_fixture.h"
#include "trace/cuda_results.h"

namespace gmt::test {
namespace {

using trace::MemoryKind;

class NamedRanges : public StoreTest {
protected:
  NamedMemory set(std::uint64_t address, std::uint64_t bytes, std::uint16_t result = 0) {
    verdicts.clear();
    const Event e =
      make(Made<trace::SetFields>().destination(address).bytes(bytes), {.result = result});
    const NamedMemory named = ranges.check_set(e, verdicts);
    if (result == cuda::CUDA_ERROR_INVALID_VALUE && verdicts.empty())
      bounds.check_strays(e, verdicts);
    return named;
  }
  NamedMemory copy_from(std::uint64_t address, trace::Side declared, std::uint16_t result = 0) {
    verdicts.clear();
    const Event e =
      make(Made<trace::CopyFields>().source(address).bytes(16),
           {.result = result, .flags = trace::copy_flags(trace::Side::kHost, declared, false)});
    return ranges.check_copy_side(e, Side::kSource, verdicts);
  }
  Verdict::Kind verdict() const {
    return verdicts.empty() ? Verdict::Kind::kNone : verdicts.all().front().kind;
  }
  Id region(std::uint64_t address) {
    user_pools.on_region();
    return live(address, 64, MemoryKind::kSubAllocation);
  }

  UserPools user_pools{store};
  Arrays arrays{store, cuda.contexts};
  const PointerReadings readings{store, user_pools};
  const Bounds bounds{store, cuda.contexts};
  const PoolVerdicts pools{store, user_pools, bounds, readings};
  const HostMemory host_memory{};
  const RangeVerdicts ranges{store, cuda.contexts, user_pools, arrays, bounds, pools, host_memory};
};

TEST_F(NamedRanges, InsideOfALiveBlock) {
  const Id id = live(kBase, kSize);
  const NamedMemory named = set(kBase + 8, 16);
  EXPECT_EQ(named.block, id);
  EXPECT_EQ(named.address, kBase + 8);
  EXPECT_EQ(named.bytes, 16u);
  EXPECT_EQ(named.region, kNone);
  EXPECT_TRUE(verdicts.empty());
  EXPECT_EQ(store[id].flags, 0u); // checking marks nothing
}

TEST_F(NamedRanges, PastTheEnd) {
  const Id id = live(kBase, kSize);
  EXPECT_EQ(set(kBase + 8, kSize).block, id);
  ASSERT_EQ(verdict(), Verdict::Kind::kOutOfBounds);
  EXPECT_EQ(verdicts.all()[0].bytes_past, 8u);
  EXPECT_EQ(verdicts.all()[0].offset, 8u);
}

TEST_F(NamedRanges, MappingsSideBySideAreOnePiece) {
  live(kBase, kSize, MemoryKind::kVmmMapping);
  live(kBase + kSize, kSize, MemoryKind::kVmmMapping);
  set(kBase, 2 * kSize);
  EXPECT_TRUE(verdicts.empty());
  set(kBase, 2 * kSize + 1);
  EXPECT_EQ(verdicts.all()[0].bytes_past, 1u);
}

TEST_F(NamedRanges, FreedMemory) {
  live(kBase, kSize);
  free_block(kBase);
  EXPECT_EQ(set(kBase, 8).block, kNone);
  EXPECT_EQ(verdict(), Verdict::Kind::kUseAfterFree);
}

TEST_F(NamedRanges, FreedMemoryOfTheHostMayBeMallocsAgain) {
  live(kBase, kSize, MemoryKind::kPinned);
  free_block(kBase);
  copy_from(kBase, trace::Side::kUnified);
  EXPECT_TRUE(verdicts.empty());
  copy_from(kBase, trace::Side::kHost);
  EXPECT_TRUE(verdicts.empty());
  copy_from(kBase, trace::Side::kUnified, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(verdict(), Verdict::Kind::kUseAfterFree);
}

TEST_F(NamedRanges, BehindARegisteredRangeOnlyARefusalIsAMistake) {
  live(kBase, kSize, MemoryKind::kRegistered);
  set(kBase, kSize + 1);
  EXPECT_TRUE(verdicts.empty());
  set(kBase, kSize + 1, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(verdict(), Verdict::Kind::kOutOfBounds);
}

TEST_F(NamedRanges, StraysNameTheBlockThatWasMeant) {
  const Id id = live(kBase, kSize);
  set(kBase - 8, 64, cuda::CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(verdict(), Verdict::Kind::kOutOfBounds);
  EXPECT_EQ(verdicts.all()[0].block, &store[id]);
  EXPECT_EQ(verdicts.all()[0].bytes_before, 8u);
  EXPECT_EQ(verdicts.all()[0].bytes_past, 8u);
  set(kBase + kSize, 64, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(verdicts.all()[0].offset, kSize);
  set(kBase + (std::uint64_t{64} << 20), 64, cuda::CUDA_ERROR_INVALID_VALUE); // far away
  EXPECT_TRUE(verdicts.empty());
}

TEST_F(NamedRanges, ARegionIsCheckedInsteadOfTheBlockAroundIt) {
  const Id block = live(kBase, kSize);
  const Id inner = region(kBase + 64);
  const NamedMemory named = set(kBase + 64, 65);
  EXPECT_EQ(named.block, block);
  EXPECT_EQ(named.region, inner);
  ASSERT_EQ(verdict(), Verdict::Kind::kOutOfBounds);
  EXPECT_EQ(verdicts.all()[0].block, &store[inner]);
}

TEST_F(NamedRanges, ARegionThatWasGivenBack) {
  live(kBase, kSize);
  user_pools.on_life(make(Made<trace::LifeFields>()
                            .handle(1)
                            .object(trace::ObjectClass::kUserHeap)
                            .op(trace::LifeOp::kCreate)
                            .address(kBase)
                            .bytes(kSize)));
  store.retire(region(kBase + 64), Block::End::kFreed, BlockStore::By{StackId{}, 0, ++allocations});
  set(kBase + 64, 8);
  EXPECT_EQ(verdict(), Verdict::Kind::kUseAfterFree);
  set(kBase, kSize); // the whole pool is the pool's own
  EXPECT_TRUE(verdicts.empty());
}

TEST_F(NamedRanges, DeadContextsAreNotChecked) {
  live(kBase, kSize);
  free_block(kBase);
  cuda.contexts.on_sticky_error(
    make(Made<trace::SyncFields>(), {.result = cuda::CUDA_ERROR_ILLEGAL_ADDRESS}));
  set(kBase, 8);
  EXPECT_TRUE(verdicts.empty());
}

} // namespace
} // namespace gmt::test
