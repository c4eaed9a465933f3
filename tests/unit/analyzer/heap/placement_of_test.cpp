// SPDX-License-Identifier: Apache-2.0
// The device and the pool of one allocation, by what is known of pools, streams and contexts.

#include "analyzer/heap/placement.h"

#include "tests/unit/analyzer/support/store_fixture.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::MemoryKind;
using trace::ObjectClass;

class PlacementOf : public StoreTest {
protected:
  void SetUp() override {
    describe_context(1, 0xc1, 0);
    describe_context(2, 0xc2, 1);
  }
  Placement placed(MemoryKind memory_kind, std::uint64_t stream, std::uint64_t pool = 0,
                   std::uint16_t context = 1) {
    const Event e =
      make(Made<trace::AllocFields>().memory_kind(memory_kind).stream(stream).pool(pool),
           {.context = context});
    Block block;
    block.memory_kind = memory_kind;
    block.stream = stream;
    block.context = context;
    return placement_of(block, e.allocation(), cuda);
  }
};

TEST_F(PlacementOf, OrdinaryMemoryIsItsContexts) {
  EXPECT_EQ(placed(MemoryKind::kDevice, 0).slot, 0);
  EXPECT_EQ(placed(MemoryKind::kDevice, 0, 0x50).pool, 0x50u);
}

TEST_F(PlacementOf, PhysicalMemoryNamesItsDevice) {
  EXPECT_EQ(placed(MemoryKind::kVmmHandle, 1 + 1).slot, 2);
  EXPECT_EQ(placed(MemoryKind::kVmmHandle, ~std::uint64_t{0}).slot, kHostSlot);
}

TEST_F(PlacementOf, StreamOrderedMemoryIsThePoolsThenTheStreamsThenTheContexts) {
  EXPECT_EQ(placed(MemoryKind::kStreamOrdered, 0, 0, 2).slot, 2);
  cuda.on_life(
    make(Made<trace::LifeFields>().handle(0x700).object(ObjectClass::kStream).op(LifeOp::kCreate),
         {.context = 2}));
  EXPECT_EQ(placed(MemoryKind::kStreamOrdered, 0x700).slot, 2);
  cuda.on_life(life(0x50, ObjectClass::kPool, LifeOp::kCreate, 0));
  EXPECT_EQ(placed(MemoryKind::kStreamOrdered, 0x700, 0x50).slot, 1);
}

TEST_F(PlacementOf, ADestroyedPoolSaysNothing) {
  cuda.on_life(life(0x50, ObjectClass::kPool, LifeOp::kCreate, 1));
  EXPECT_EQ(placed(MemoryKind::kStreamOrdered, 0, 0x50).slot, 2);
  cuda.on_life(life(0x50, ObjectClass::kPool, LifeOp::kDestroy));
  EXPECT_EQ(placed(MemoryKind::kStreamOrdered, 0, 0x50).slot, 1);
}

TEST_F(PlacementOf, TheDevicesCurrentPool) {
  cuda.on_life(life(0x50, ObjectClass::kPool, LifeOp::kCreate, 0));
  cuda.on_life(life(0x50, ObjectClass::kPool, LifeOp::kUse, 0));
  EXPECT_EQ(placed(MemoryKind::kStreamOrdered, 0).pool, 0x50u);
  EXPECT_EQ(placed(MemoryKind::kStreamOrdered, 0, 0, 2).pool, 0u); // of another device
  EXPECT_EQ(placed(MemoryKind::kStreamOrdered, 0, 0x51).pool, 0x51u);
}

TEST_F(PlacementOf, CallsThatNameNoContextAreTheFirstOnes) {
  EXPECT_EQ(placed(MemoryKind::kStreamOrdered, 0, 0, 0).slot, 1);
}

} // namespace
} // namespace gmt::test
