// SPDX-License-Identifier: Apache-2.0
// What words of a kernel's arguments may mean: memory, freed memory, the end of another argument's
// block, a pointer that counts from 1. Nothing in the heap changes.

#include "analyzer/heap/verdicts/argument_verdicts.h"

#include "tests/unit/analyzer/support/store_fixture.h"

namespace gmt::test {
namespace {

using trace::MemoryKind;

constexpr std::uint64_t kFunction = 0xf0;

class ArgumentVerdict : public StoreTest {
protected:
  // Checks the last of the words, each in a parameter of its own.
  NamedMemory check(const std::vector<std::uint64_t>& addresses) {
    verdicts.clear();
    std::vector<std::uint64_t> words;
    for (unsigned i = 0; i < addresses.size(); ++i)
      words.push_back(trace::argument_word(addresses[i], i));
    const Event e = make(Made<trace::LaunchFields>().function(kFunction), {}, words);
    return arguments.check(e, e.launch().arguments.back(),
                           store.find_id(Space::kAddress, addresses.back()), verdicts);
  }

  UserPools user_pools{store};
  const PointerReadings readings{store, user_pools};
  const Bounds bounds{store, cuda.contexts};
  const PoolVerdicts pools{store, user_pools, bounds, readings};
  const HostMemory host_memory{};
  const ArgumentVerdicts arguments{store, user_pools, pools, readings, host_memory};
};

TEST_F(ArgumentVerdict, LiveMemory) {
  const Id device = live(kBase, kSize), host = live(kBase + kSize, kSize, MemoryKind::kRegistered);
  EXPECT_EQ(check({kBase + 8}).block, device);
  EXPECT_EQ(check({kBase + kSize}).block, host);
  EXPECT_EQ(check({0x1234}).block, kNone);
  EXPECT_TRUE(verdicts.empty());
}

TEST_F(ArgumentVerdict, FreedMemory) {
  live(kBase, kSize);
  free_block(kBase);
  check({kBase + 8});
  ASSERT_EQ(verdicts.all().size(), 1u);
  EXPECT_EQ(verdicts.all()[0].kind, Verdict::Kind::kUseAfterFree);
  EXPECT_EQ(verdicts.all()[0].reading, Verdict::Reading::kNone);
}

TEST_F(ArgumentVerdict, TheBaseOfAFreedBlockMayBeTheEndOfAnother) {
  const Id before = live(kBase, kSize);
  live(kBase + kSize, kSize);
  free_block(kBase + kSize);
  check({kBase, kBase + kSize});
  ASSERT_EQ(verdicts.all().size(), 1u);
  EXPECT_EQ(verdicts.all()[0].reading, Verdict::Reading::kEnd);
  EXPECT_EQ(verdicts.all()[0].neighbour, &store[before]);
  EXPECT_EQ(verdicts.all()[0].neighbour_parameter, 0);
}

TEST_F(ArgumentVerdict, AnEndWithNothingBehindItSaysWhatTheParameterTakes) {
  live(kBase, kSize);
  check({kBase, kBase + kSize});
  EXPECT_TRUE(verdicts.empty());
  ASSERT_EQ(verdicts.ends().size(), 1u);
  EXPECT_EQ(verdicts.ends()[0].parameter, 1u);
  EndParameters ends;
  ends.add(verdicts.ends()[0]);
  EXPECT_TRUE(ends.contains(kFunction, 1));
  EXPECT_FALSE(ends.contains(kFunction, 0));
  EXPECT_FALSE(ends.contains(0xf1, 1));
}

TEST_F(ArgumentVerdict, AnEndInsideAFreedBlockIsNothingElse) {
  live(kBase, 4 * kSize);
  free_block(kBase);
  live(kBase, kSize); // took the first part of it
  check({kBase, kBase + kSize});
  EXPECT_TRUE(verdicts.empty());
  EXPECT_EQ(verdicts.ends().size(), 1u);
}

TEST_F(ArgumentVerdict, APointerThatCountsFrom1) {
  live(kBase, kSize);
  free_block(kBase);
  const Id behind = live(kBase + kSize, kSize);
  check({kBase + kSize - 8});
  ASSERT_EQ(verdicts.all().size(), 1u);
  EXPECT_EQ(verdicts.all()[0].reading, Verdict::Reading::kBefore);
  EXPECT_EQ(verdicts.all()[0].neighbour, &store[behind]);
  EXPECT_EQ(readings.live_just_behind(kBase + kSize - 65), nullptr);
}

TEST_F(ArgumentVerdict, GraphMemoryComesBackByItself) {
  live(kBase, kSize, MemoryKind::kGraph);
  free_block(kBase);
  check({kBase});
  EXPECT_TRUE(verdicts.empty());
}

} // namespace
} // namespace gmt::test
