// SPDX-License-Identifier: Apache-2.0
// NVTX pools: where they lie, and which regions end with which call.

#include "analyzer/heap/user_pools.h"

#include "tests/unit/analyzer/support/store_fixture.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::MemoryKind;

class NvtxPools : public StoreTest {
protected:
  void pool(std::uint64_t handle, LifeOp op, std::uint64_t address = 0, std::uint64_t bytes = 0) {
    pools.on_life(make(Made<trace::LifeFields>()
                         .handle(handle)
                         .object(trace::ObjectClass::kUserHeap)
                         .op(op)
                         .address(address)
                         .bytes(bytes)));
  }
  Id region(std::uint64_t address, std::uint64_t of = 0) {
    pools.on_region();
    const Id id = live(address, 64, MemoryKind::kSubAllocation);
    if (of != 0) store.detail_of(store[id]).pool = of;
    return id;
  }
  bool is_live(std::uint64_t address) {
    return store.find_exact(Space::kSubAllocation, address) != kNone;
  }
  Block::End end_of(std::uint64_t address) {
    return store.find_dead(Space::kSubAllocation, address)->end;
  }

  UserPools pools{store};
};

TEST_F(NvtxPools, LieWhereTheySay) {
  EXPECT_FALSE(pools.has_regions());
  pool(1, LifeOp::kCreate, kBase, kSize);
  ASSERT_NE(pools.find_at(kBase + kSize - 1), nullptr);
  EXPECT_EQ(pools.find_at(kBase)->begin, kBase);
  EXPECT_EQ(pools.find_at(kBase + kSize), nullptr);
  pool(1, LifeOp::kDestroy);
  EXPECT_EQ(pools.find_at(kBase), nullptr);
}

TEST_F(NvtxPools, AResetFreesTheRegionsOfThePool) {
  pool(1, LifeOp::kCreate, kBase, kSize);
  region(kBase, 1);
  region(kBase + 64); // names no pool, but lies in it
  region(kBase + kSize, 2);
  pool(1, LifeOp::kReset);
  EXPECT_EQ(end_of(kBase), Block::End::kFreed);
  EXPECT_EQ(end_of(kBase + 64), Block::End::kFreed);
  EXPECT_TRUE(is_live(kBase + kSize));
}

TEST_F(NvtxPools, AResetOfAllPoolsLeavesTensorsAlone) {
  region(kBase);
  pools.on_region();
  live(kBase + 64, 64, MemoryKind::kTensor);
  pool(0, LifeOp::kReset);
  EXPECT_FALSE(is_live(kBase));
  EXPECT_TRUE(is_live(kBase + 64));
}

TEST_F(NvtxPools, RegionsThatEndWithTheirPoolWereNeverGivenBack) {
  pool(1, LifeOp::kCreate, kBase, kSize);
  region(kBase, 1);
  pool(1, LifeOp::kDestroy);
  EXPECT_EQ(end_of(kBase), Block::End::kContextEnded);
}

TEST_F(NvtxPools, RegionsThatBeginInMemoryEndWithIt) {
  region(kBase);
  region(kBase + kSize);
  pools.end_regions_inside(make(Made<trace::FreeFields>()), kBase, kSize);
  EXPECT_EQ(end_of(kBase), Block::End::kContextEnded);
  EXPECT_TRUE(is_live(kBase + kSize));
}

} // namespace
} // namespace gmt::test
