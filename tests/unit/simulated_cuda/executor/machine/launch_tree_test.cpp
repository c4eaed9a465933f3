// SPDX-License-Identifier: Apache-2.0
// Which launches by kernels are over for which others. `tests/programs/launches_by_kernels.cu` runs
// such kernels.
#include "simulated_cuda/executor/machine/launch_tree.h"

#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/race_tables.h"

#include <gtest/gtest.h>

#include <string>

namespace gmt::executor {
namespace {

class LaunchTreeTest : public testing::Test {
protected:
  // Each launch takes ten runs.
  std::size_t run(std::size_t parent, const LaunchedBy& by) {
    tree_.expect(parent, by);
    EarlierLaunch launch;
    launch.first_run = next_run_;
    launch.end_run = next_run_ + 9;
    next_run_ += 10;
    if (parent != LaunchTree::kNone) tree_.follows(launch.first_run, 1);
    return tree_.add(std::move(launch));
  }
  std::size_t root() { return run(LaunchTree::kNone, {}); }
  static LaunchedBy by(std::uint32_t block, std::uint64_t stream = 0) {
    LaunchedBy launched;
    launched.point = {true, block, 5, 20, 10, 15, false, false};
    launched.stream = stream;
    return launched;
  }
  static LaunchedBy tail() {
    LaunchedBy launched = by(0);
    launched.is_tail = true;
    return launched;
  }
  // Of a launch, by its number, for the one that is expected.
  bool is_over(std::size_t member, const EarlierAccess& access = {}) {
    const EarlierLaunch* launch = tree_.of_run(static_cast<std::uint32_t>(member) * 10 + 105);
    return launch == nullptr || tree_.is_over(block_, *launch, access);
  }
  bool knew(std::uint32_t block, std::uint32_t thread, std::uint32_t clock) {
    return is_over(0, {block, thread, clock, false, false});
  }

  LaunchTree tree_;
  Block block_;
  std::uint32_t next_run_ = 100;
};

TEST_F(LaunchTreeTest, WhatTheLaunchingThreadKnewIsOver) {
  tree_.expect(root(), by(2)); // by thread 5 of block 2 at its clock 20
  EXPECT_TRUE(knew(2, 5, 20));
  EXPECT_FALSE(knew(2, 5, 21));
  EXPECT_TRUE(knew(2, 70, 9)); // before the block's barrier
  EXPECT_FALSE(knew(2, 70, 10));
  EXPECT_TRUE(knew(2, 6, 14)); // before the warp's
  EXPECT_FALSE(knew(2, 6, 15));
  EXPECT_FALSE(knew(1, 5, 1));
  EXPECT_TRUE(knew(2, global_race::kManyThreads, 30)); // of which not all are known
  EXPECT_STREQ(tree_.how_beside(*tree_.of_run(100)), kParent);
}

TEST_F(LaunchTreeTest, WhoMetOtherBlocksCountsAsKnowingThem) {
  LaunchedBy launched = by(2);
  launched.point.knows_blocks = true;
  launched.point.knows_parts = true;
  tree_.expect(root(), launched);
  EXPECT_TRUE(knew(1, 5, 1));
  EXPECT_TRUE(knew(2, 70, 12));
  EXPECT_FALSE(knew(2, 70, 21));
}

TEST_F(LaunchTreeTest, OneBlocksStreamIsInOrderAndOthersAreNot) {
  const std::size_t parent = root();
  run(parent, by(0));
  tree_.expect(parent, by(0));
  EXPECT_TRUE(is_over(1));
  tree_.expect(parent, by(1));
  EXPECT_FALSE(is_over(1));
  EXPECT_STREQ(tree_.how_beside(*tree_.of_run(110)), kSibling);
  tree_.expect(parent, by(0, 300));
  EXPECT_FALSE(is_over(1));
  LaunchedBy alone = by(0);
  alone.is_alone = true;
  tree_.expect(parent, alone);
  EXPECT_FALSE(is_over(1));
  LaunchedBy after_events = by(0, 300);
  after_events.is_after_events = true;
  tree_.expect(parent, after_events);
  EXPECT_TRUE(is_over(1));
}

TEST_F(LaunchTreeTest, ATailComesBehindTheKernelAndItsChildren) {
  const std::size_t parent = root();
  const std::size_t child = run(parent, by(1));
  run(child, by(0));
  tree_.expect(parent, tail());
  for (std::size_t member = 0; member < 3; ++member) EXPECT_TRUE(is_over(member, {2, 70, 30}));
}

TEST_F(LaunchTreeTest, GrandchildrenGoOnBesideTheKernelAboveAll) {
  const std::size_t parent = root();
  const std::size_t child = run(parent, by(1));
  tree_.expect(child, by(0));
  EXPECT_FALSE(knew(1, 5, 21));
  EXPECT_TRUE(knew(1, 5, 20));
  const std::size_t grandchild = run(child, by(0));
  tree_.expect(parent, by(1)); // into the child's stream: all that led to is over
  EXPECT_TRUE(is_over(child));
  EXPECT_TRUE(is_over(grandchild));
  tree_.expect(parent, by(2));
  EXPECT_FALSE(is_over(child));
  EXPECT_FALSE(is_over(grandchild));
}

TEST_F(LaunchTreeTest, WhatRunsInBetweenEndsIt) {
  const std::size_t parent = root();
  tree_.expect(parent, by(0));
  EXPECT_TRUE(tree_.follows(110, 1));
  EXPECT_FALSE(tree_.follows(120, 1));
  EXPECT_EQ(tree_.of_run(105), nullptr);
  EXPECT_EQ(run(parent, by(0)), LaunchTree::kNone);
}

} // namespace
} // namespace gmt::executor
