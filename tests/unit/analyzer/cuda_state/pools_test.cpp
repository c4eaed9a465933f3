// SPDX-License-Identifier: Apache-2.0
// CUDA's memory pools: which exist, where they lie, which ones devices allocate from, and what was
// set.

#include "analyzer/cuda_state/pools.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/analyzer/support/event_maker.h"
#include "trace/cuda_constants.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::ObjectClass;

class MemoryPools : public testing::Test {
protected:
  void life(std::uint64_t handle, LifeOp op, std::uint64_t extra = 0, std::uint64_t value = 0,
            std::uint32_t stack = 0) {
    table.on_life(make(Made<trace::LifeFields>()
                         .handle(handle)
                         .object(ObjectClass::kPool)
                         .op(op)
                         .extra(extra)
                         .value(value),
                       {.stack = {stack}}));
  }
  EventMaker make;
  PoolTable table;
};

TEST_F(MemoryPools, LiveFromCreationToDestruction) {
  EXPECT_EQ(table.find(0x51), nullptr);
  life(0x51, LifeOp::kCreate, 1, 0, 10);
  ASSERT_NE(table.find(0x51), nullptr);
  EXPECT_TRUE(table.find(0x51)->is_alive());
  EXPECT_EQ(table.find(0x51)->device, 1);
  EXPECT_EQ(table.find(0x51)->created->stack, StackId{10});
  life(0x51, LifeOp::kDestroy, 0, 0, 20);
  EXPECT_FALSE(table.find(0x51)->is_alive());
  EXPECT_EQ(table.find(0x51)->destroyed->stack, StackId{20});
  EXPECT_EQ(table.find(0x51)->destroyed->order, make.order());
}

TEST_F(MemoryPools, AHandleThatIsGivenOutAgainIsAnotherPool) {
  life(0x51, LifeOp::kCreate, 1);
  life(0x51, LifeOp::kSet, cuda::kPoolReleaseThreshold, 4096);
  life(0x51, LifeOp::kDestroy);
  life(0x51, LifeOp::kCreate, 2);
  EXPECT_TRUE(table.find(0x51)->is_alive());
  EXPECT_EQ(table.find(0x51)->device, 2);
  EXPECT_FALSE(table.release_threshold(0x51));
}

TEST_F(MemoryPools, OneWhoseCreationWentUnseen) {
  life(0x51, LifeOp::kDestroy);
  EXPECT_FALSE(table.find(0x51)->is_alive());
  EXPECT_TRUE(table.find(0x51)->destroyed);
  EXPECT_EQ(table.made_or_default(0x51), PoolTable::kDefault);
}

TEST_F(MemoryPools, OfTheHost) {
  life(0x51, LifeOp::kCreate, ~std::uint64_t{0});
  EXPECT_EQ(table.find(0x51)->device, -1);
}

TEST_F(MemoryPools, AliveOnesByHandle) {
  life(0x53, LifeOp::kCreate);
  life(0x51, LifeOp::kCreate);
  life(0x52, LifeOp::kCreate);
  life(0x52, LifeOp::kDestroy);
  std::vector<std::uint64_t> alive;
  table.for_each_alive([&](std::uint64_t handle, const Pool&) { alive.push_back(handle); });
  EXPECT_EQ(alive, (std::vector<std::uint64_t>{0x51, 0x53}));
}

TEST_F(MemoryPools, TheDefaultPoolIsBackWhenTheCurrentOneIsDestroyed) {
  life(0x51, LifeOp::kCreate, 1);
  EXPECT_EQ(table.current_of(1), 0u);
  life(0x51, LifeOp::kUse, 1);
  EXPECT_EQ(table.current_of(1), 0x51u);
  EXPECT_EQ(table.current_of(0), 0u);
  life(0x51, LifeOp::kDestroy);
  EXPECT_EQ(table.current_of(1), 0u);
}

TEST_F(MemoryPools, SettingsOfDefaultPoolsCountAsOne) {
  life(0x51, LifeOp::kCreate);
  // No call made it: a device's default one
  life(0x99, LifeOp::kSet, cuda::kPoolReleaseThreshold, 4096);
  EXPECT_EQ(table.made_or_default(0x51), 0x51u);
  EXPECT_EQ(table.made_or_default(0x99), PoolTable::kDefault);
  EXPECT_EQ(table.release_threshold(PoolTable::kDefault), 4096u);
  EXPECT_FALSE(table.release_threshold(0x51));
}

TEST_F(MemoryPools, OnlyATrimToNothingEmptiesAPool) {
  life(0x51, LifeOp::kCreate);
  life(0x51, LifeOp::kTrim, 100);
  EXPECT_EQ(table.emptied(0x51), 0u);
  life(0x51, LifeOp::kTrim, 0);
  EXPECT_EQ(table.emptied(0x51), make.order());
}

} // namespace
} // namespace gmt::test
