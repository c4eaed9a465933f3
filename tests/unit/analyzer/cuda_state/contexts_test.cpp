// SPDX-License-Identifier: Apache-2.0
// Contexts: devices, errors that kill them, and calls that end them.

#include "analyzer/cuda_state/contexts.h"

#include <gtest/gtest.h>

#include "tests/unit/analyzer/support/event_maker.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::ObjectClass;

class Contexts : public testing::Test {
protected:
  void describe(std::uint16_t id, std::uint64_t handle, std::uint64_t device, bool primary) {
    table.describe(
      make(Made<trace::ContextFields>().handle(handle).device(device).is_primary(primary ? 1 : 0),
           {.context = id}));
  }
  std::optional<ContextEnd> life(std::uint64_t handle, ObjectClass object, LifeOp op,
                                 std::uint64_t extra = 0) {
    newest = make(Made<trace::LifeFields>().handle(handle).object(object).op(op).extra(extra));
    return table.on_life(newest);
  }
  void fail(std::uint16_t context) {
    table.on_sticky_error(make(Made<trace::SyncFields>(), {.result = 700, .context = context}));
  }

  EventMaker make;
  ContextTable table;
  Event newest{};
};

TEST_F(Contexts, UnknownOnesHaveNoDevice) {
  EXPECT_EQ(table.device_of(0), -1);
  EXPECT_EQ(table.device_of(7), -1);
  EXPECT_EQ(table.first_device(), -1);
  describe(3, 0xc3, 2, false);
  EXPECT_EQ(table.device_of(3), 2);
  EXPECT_EQ(table.device_of(1), -1);
}

TEST_F(Contexts, TheFirstOneIsTheOneThatWasMadeFirst) {
  life(0xc2, ObjectClass::kContext, LifeOp::kCreate);
  describe(1, 0xc1, 0, false);
  EXPECT_EQ(table.first_device(), -1); // it has not been described yet
  describe(2, 0xc2, 1, false);
  EXPECT_EQ(table.first_device(), 1);
}

TEST_F(Contexts, ARetainedPrimaryContextMayBeTheFirst) {
  life(3, ObjectClass::kPrimaryContext, LifeOp::kRetain, 0xc1);
  EXPECT_EQ(table.first_device(), 3);
}

TEST_F(Contexts, AnErrorKillsItsContextAlone) {
  describe(1, 0xc1, 0, false);
  describe(2, 0xc2, 1, false);
  fail(2);
  EXPECT_TRUE(table.is_dead(2));
  EXPECT_FALSE(table.is_dead(1));
  EXPECT_TRUE(table.is_dead(0)); // which one is meant is not known
  EXPECT_EQ(table.sticky_code(), 700);
}

TEST_F(Contexts, AnErrorOfNoKnownContextKillsAll) {
  describe(1, 0xc1, 0, false);
  fail(0);
  EXPECT_TRUE(table.is_dead(1));
}

TEST_F(Contexts, DestroyEndsItByItsHandle) {
  describe(1, 0xc1, 0, false);
  describe(2, 0xc2, 0, false);
  const auto end = life(0xc2, ObjectClass::kContext, LifeOp::kDestroy);
  ASSERT_TRUE(end);
  EXPECT_TRUE(table.is_ended_by(2, *end));
  EXPECT_FALSE(table.is_ended_by(1, *end));
  EXPECT_TRUE(table.is_ended_by(2, newest));
  EXPECT_FALSE(table.is_ended_by(1, newest));
}

TEST_F(Contexts, TheLastReleaseEndsAPrimaryContext) {
  describe(1, 0xc1, 0, true);
  describe(2, 0xc2, 0, false);
  EXPECT_FALSE(life(0, ObjectClass::kPrimaryContext, LifeOp::kRetain, 0xc1));
  EXPECT_FALSE(life(0, ObjectClass::kPrimaryContext, LifeOp::kRetain, 0xc1));
  EXPECT_FALSE(life(0, ObjectClass::kPrimaryContext, LifeOp::kRelease));
  EXPECT_FALSE(table.is_ended_by(1, newest));
  const auto end = life(0, ObjectClass::kPrimaryContext, LifeOp::kRelease);
  ASSERT_TRUE(end);
  EXPECT_TRUE(table.is_ended_by(1, *end));
  EXPECT_TRUE(table.is_ended_by(1, newest));
  EXPECT_FALSE(table.is_ended_by(2, *end)); // of the same device, but no primary one
}

TEST_F(Contexts, OneReleaseTooManyEndsNothing) {
  describe(1, 0xc1, 0, true);
  EXPECT_FALSE(life(0, ObjectClass::kPrimaryContext, LifeOp::kRelease));
  EXPECT_TRUE(life(0, ObjectClass::kPrimaryContext, LifeOp::kReset));
}

TEST_F(Contexts, WhereNoneWasDescribedThereIsButOne) {
  const ContextEnd end{.handle = 0xc1};
  EXPECT_TRUE(table.is_ended_by(0, end));
  EXPECT_FALSE(table.is_ended_by(1, end));
  describe(1, 0xc1, 0, false);
  EXPECT_FALSE(table.is_ended_by(0, end));
}

} // namespace
} // namespace gmt::test
