// SPDX-License-Identifier: Apache-2.0
// Objects of CUDA that are no memory: which call made each, which ended it, and what is forgotten.

#include "analyzer/cuda_state/objects.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/analyzer/support/event_maker.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::ObjectClass;
using trace::SyncOp;

class Objects : public testing::Test {
protected:
  Event life(ObjectClass object, std::uint64_t handle, LifeOp op, std::uint16_t result = 0,
             std::uint32_t stack = 0) {
    const Event e = make(Made<trace::LifeFields>().handle(handle).object(object).op(op),
                         {.result = result, .stack = {stack}});
    if (e.succeeded()) table.on_life(e);
    else table.on_unsure(e);
    return e;
  }
  std::size_t alive() const {
    std::size_t count = 0;
    table.for_each_alive([&](ObjectClass, std::uint64_t, const CudaObject&) { ++count; });
    return count;
  }
  EventMaker make;
  ObjectTable table;
};

TEST_F(Objects, LiveFromCreationToDestruction) {
  life(ObjectClass::kEvent, 0x51, LifeOp::kCreate, 0, 10);
  EXPECT_EQ(table.find_destroyed(ObjectClass::kEvent, 0x51), nullptr);
  EXPECT_EQ(table.find(ObjectClass::kStream, 0x51), nullptr); // of another class
  life(ObjectClass::kEvent, 0x51, LifeOp::kDestroy, 0, 20);
  const CudaObject* gone = table.find_destroyed(ObjectClass::kEvent, 0x51);
  ASSERT_NE(gone, nullptr);
  EXPECT_EQ(gone->created.stack, StackId{10});
  EXPECT_EQ(gone->ended->stack, StackId{20});
  life(ObjectClass::kEvent, 0x51, LifeOp::kCreate); // the handle comes again
  EXPECT_EQ(table.find_destroyed(ObjectClass::kEvent, 0x51), nullptr);
  EXPECT_EQ(alive(), 1u);
}

TEST_F(Objects, OnlyAKnownDestructionComesAgain) {
  life(ObjectClass::kTexture, 1, LifeOp::kCreate);
  EXPECT_FALSE(table.is_destroyed_again(life(ObjectClass::kTexture, 1, LifeOp::kDestroy, 0, 20)));
  EXPECT_TRUE(table.is_destroyed_again(life(ObjectClass::kTexture, 1, LifeOp::kDestroy, 0, 30)));
  EXPECT_EQ(table.find_destroyed(ObjectClass::kTexture, 1)->ended->stack, StackId{20});
  EXPECT_FALSE(table.is_destroyed_again(life(ObjectClass::kTexture, 2, LifeOp::kDestroy)));
}

TEST_F(Objects, ADestructionInFlightProvesNothing) {
  life(ObjectClass::kStream, 0x51, LifeOp::kCreate);
  life(ObjectClass::kStream, 0x51, LifeOp::kDestroy, trace::kResultInFlight);
  EXPECT_EQ(table.find_destroyed(ObjectClass::kStream, 0x51), nullptr);
  EXPECT_EQ(alive(), 0u);
}

TEST_F(Objects, SomeEndWithTheirContext) {
  ContextTable contexts;
  contexts.describe(make(Made<trace::ContextFields>().handle(0x5000).device(0).is_primary(1)));
  life(ObjectClass::kStream, 0x51, LifeOp::kCreate);
  life(ObjectClass::kGraph, 0x52, LifeOp::kCreate);
  const Event reset =
    make(Made<trace::LifeFields>().object(ObjectClass::kPrimaryContext).op(LifeOp::kReset));
  table.end_with_context(reset, {.handle = 0, .device = 0}, contexts);
  EXPECT_EQ(alive(), 1u);
  EXPECT_EQ(table.find_destroyed(ObjectClass::kStream, 0x51), nullptr); // no call destroyed it
  EXPECT_TRUE(table.find(ObjectClass::kStream, 0x51)->with_context);
}

TEST_F(Objects, CapturesEndAsGraphs) {
  const auto end_capture = [this](std::uint64_t graph, std::uint32_t stack) {
    table.on_sync(
      make(Made<trace::SyncFields>().op(SyncOp::kEndCapture).graph(graph), {.stack = {stack}}));
  };
  end_capture(0x61, 10);
  ASSERT_NE(table.find(ObjectClass::kGraph, 0x61), nullptr);
  end_capture(0x61, 20); // into the same graph
  EXPECT_EQ(table.find(ObjectClass::kGraph, 0x61)->created.stack, StackId{10});
  life(ObjectClass::kGraph, 0x61, LifeOp::kDestroy);
  end_capture(0x61, 30);
  EXPECT_EQ(table.find(ObjectClass::kGraph, 0x61)->created.stack, StackId{30});
}

TEST_F(Objects, TexturesAreBound) {
  table.on_bound(
    make(Made<trace::UseFields>().use(trace::UseClass::kTexture).address(0x7000).object(3)));
  table.on_bound(make(Made<trace::UseFields>().use(trace::UseClass::kPrefetch).stream(4)));
  EXPECT_EQ(table.find(ObjectClass::kTexture, 3)->memory, 0x7000u);
  EXPECT_EQ(alive(), 1u);
}

TEST_F(Objects, OnlyTheNewestEndsAreRemembered) {
  for (std::uint64_t handle = 1; handle <= ObjectTable::kMostEnded + 2; ++handle) {
    life(ObjectClass::kEvent, handle, LifeOp::kCreate);
    life(ObjectClass::kEvent, handle, LifeOp::kDestroy);
    if (handle == 1) life(ObjectClass::kEvent, handle, LifeOp::kCreate); // lives on
  }
  EXPECT_NE(table.find(ObjectClass::kEvent, 1), nullptr);
  EXPECT_EQ(table.find(ObjectClass::kEvent, 2), nullptr);
  EXPECT_NE(table.find_destroyed(ObjectClass::kEvent, 3), nullptr);
  EXPECT_EQ(alive(), 1u);
}

TEST_F(Objects, DamagedClassesAreNone) {
  life(static_cast<ObjectClass>(200), 0x51, LifeOp::kCreate);
  EXPECT_EQ(table.find(static_cast<ObjectClass>(200), 0x51), nullptr);
}

} // namespace
} // namespace gmt::test
