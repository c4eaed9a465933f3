// SPDX-License-Identifier: Apache-2.0
// What a call leaves behind on the blocks that it used.

#include "analyzer/heap/access_list.h"

#include "tests/unit/analyzer/support/store_fixture.h"

namespace gmt::test {
namespace {

class Accesses : public StoreTest {
protected:
  AccessList list{store};
};

TEST_F(Accesses, MarkTheirBlock) {
  const Id id = live(kBase, kSize);
  const Event call = make(Made<trace::CopyFields>());
  list.add(call, id, Access::Kind::kWrite, kBase + 8, 16);
  list.add(call, id, Access::Kind::kArgument, kBase, 0, 3);
  EXPECT_EQ(store[id].flags, unsigned{kWasWritten | kWasArgument});
  ASSERT_EQ(list.all().size(), 2u);
  EXPECT_EQ(list.all()[0].block, &store[id]);
  EXPECT_EQ(list.all()[0].address, kBase + 8);
  EXPECT_EQ(list.all()[0].bytes, 16u);
  EXPECT_EQ(list.all()[1].parameter, 3);
  list.clear();
  EXPECT_TRUE(list.all().empty());
}

TEST_F(Accesses, ARefusedCallHasOnlyTried) {
  const Id id = live(kBase, kSize);
  list.add(make(Made<trace::CopyFields>(), {.result = 1}), id, Access::Kind::kWrite, kBase, 16);
  EXPECT_EQ(store[id].flags, unsigned{kWasTried});
  EXPECT_TRUE(list.all().empty());
}

TEST_F(Accesses, BirthsAndEndsLeaveNoMark) {
  const Id id = live(kBase, kSize);
  list.add_allocation(store[id]);
  list.add_end(*free_block(kBase));
  ASSERT_EQ(list.all().size(), 2u);
  EXPECT_EQ(list.all()[0].kind, Access::Kind::kAllocated);
  EXPECT_EQ(list.all()[1].kind, Access::Kind::kEnded);
  EXPECT_EQ(list.all()[1].bytes, kSize);
  EXPECT_EQ(list.all()[1].block->flags, 0u);
}

TEST_F(Accesses, ThereIsRoomForAllArgumentsOfALaunch) {
  const Id id = live(kBase, kSize);
  list.add_end(store[id]);
  constexpr std::size_t kArguments = 1000;
  Access* next = list.room_for(kArguments);
  for (std::size_t i = 0; i < kArguments; ++i)
    *next++ = {.block = &store[id], .kind = Access::Kind::kArgument, .address = kBase + i};
  list.filled_to(next);
  ASSERT_EQ(list.all().size(), kArguments + 1);
  EXPECT_EQ(list.all().front().kind, Access::Kind::kEnded);
  EXPECT_EQ(list.all().back().address, kBase + kArguments - 1);
}

} // namespace
} // namespace gmt::test
