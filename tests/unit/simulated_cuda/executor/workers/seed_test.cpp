// SPDX-License-Identifier: Apache-2.0
// The order in which blocks, warps and lanes have their turns: as they are numbered, or by a seed.
#include "simulated_cuda/executor/machine/workers/block_order.h"
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <algorithm>
#include <numeric>

namespace gmt::executor {
namespace {

class Seed : public KernelRunner {
protected:
  // Thread 0 of each block, or each warp of one, takes a ticket and stores who it is there.
  std::vector<std::uint32_t> tickets(const char* who, Extent grid, Extent block) {
    const std::string text =
      std::string(
        ".visible .entry k(.param .u64 p, .param .u64 q) { .reg .pred %p;\n"
        ".reg .b32 %r<8>; .reg .b64 %x<4>; ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q];\n"
        "mov.u32 %r0, ") +
      who +
      "; atom.global.add.u32 %r1, [%x1], 1; mul.wide.u32 %x2, %r1, 4; add.u64 %x2, %x0, %x2;\n"
      "st.global.u32 [%x2], %r0; ret; }\n";
    load(text);
    const auto count = static_cast<std::size_t>(grid.count() * block.count());
    const std::uint64_t a = allocate(4 * count), ticket = put(std::vector<std::uint32_t>(1));
    EXPECT_EQ(run(grid, block, {a, ticket}).end, End::kDone);
    expect_no_reports();
    return get<std::uint32_t>(a, count);
  }
  static std::vector<std::uint32_t> numbered(std::size_t count) {
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
};

TEST_F(Seed, BlocksStartInItsOrder) {
  const auto with = [&](std::uint64_t seed) {
    seed_ = seed;
    return tickets("%ctaid.x", {500}, {1});
  };
  const std::vector<std::uint32_t> all = numbered(500);
  EXPECT_EQ(with(0), all);
  const std::vector<std::uint32_t> mixed = with(1);
  EXPECT_NE(mixed, all);
  EXPECT_TRUE(std::is_permutation(mixed.begin(), mixed.end(), all.begin()));
  EXPECT_EQ(with(1), mixed);
  EXPECT_NE(with(2), mixed);
}

TEST_F(Seed, WarpsHaveTheirTurnsInItsOrder) {
  const auto with = [&](std::uint64_t seed, unsigned workers) {
    seed_ = seed;
    workers_ = workers;
    return tickets("%tid.x", {1}, {1024});
  };
  const std::vector<std::uint32_t> all = numbered(1024);
  EXPECT_EQ(with(0, 1), all);
  const std::vector<std::uint32_t> mixed = with(1, 1);
  EXPECT_NE(mixed, all);
  EXPECT_TRUE(std::is_permutation(mixed.begin(), mixed.end(), all.begin()));
  EXPECT_EQ(with(1, 4), mixed) << "a block's order does not depend on the other workers";
  EXPECT_NE(with(2, 1), mixed);
}

TEST_F(Seed, EachBlockStartsOnceOnSeveralWorkers) {
  workers_ = 4;
  seed_ = 3;
  std::vector<std::uint32_t> started = tickets("%ctaid.x", {5000}, {1});
  std::sort(started.begin(), started.end());
  EXPECT_EQ(started, numbered(5000));
}

// Block 0 writes what the others read, and nothing makes them wait for it.
TEST_F(Seed, FindsAKernelThatNeedsTheFirstBlockFirst) {
  load(".visible .entry k(.param .u64 p) { .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %x<3>;\n"
       "ld.param.u64 %x0, [p]; mov.u32 %r0, %ctaid.x; setp.ne.u32 %p, %r0, 0; @%p bra A;\n"
       "st.global.u32 [%x0], 7; A: ld.global.u32 %r1, [%x0]; mul.wide.u32 %x1, %r0, 4;\n"
       "add.u64 %x1, %x0, %x1; st.global.u32 [%x1+4], %r1; ret; }\n");
  const auto wrong_blocks = [&](std::uint64_t seed) {
    seed_ = seed;
    const std::uint64_t a = put(std::vector<std::uint32_t>(65));
    run({64}, {1}, {a});
    const auto out = get<std::uint32_t>(a + 4, 64);
    return std::count_if(out.begin(), out.end(), [](std::uint32_t value) { return value != 7; });
  };
  EXPECT_EQ(wrong_blocks(0), 0);
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto wrong = wrong_blocks(seed);
    found += wrong != 0 ? 1 : 0;
    EXPECT_EQ(wrong_blocks(seed), wrong) << "the same again";
  }
  EXPECT_GT(found, 2u);
}

// Both sides of a branch take a ticket; which one is first, the seed says.
TEST_F(Seed, EitherSideOfABranchMayBeFirst) {
  load(".visible .entry k(.param .u64 p, .param .u64 q) { .reg .pred %p; .reg .b32 %r<4>;\n"
       ".reg .b64 %x<2>; ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x;\n"
       "setp.lt.u32 %p, %r0, 16; @%p bra A; atom.global.exch.b32 %r1, [%x1], 1; bra B;\n"
       "A: atom.global.exch.b32 %r1, [%x1], 2; B: st.global.u32 [%x0], %r1; ret; }\n");
  const auto last = [&](std::uint64_t seed) {
    seed_ = seed;
    const std::uint64_t a = allocate(4), b = put(std::vector<std::uint32_t>(1));
    run({1}, {32}, {a, b});
    return get<std::uint32_t>(b, 1)[0];
  };
  const std::uint32_t usual = last(0);
  std::size_t others = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) others += last(seed) != usual ? 1 : 0;
  EXPECT_GT(others, 0u);
  EXPECT_LT(others, 16u);
}

// Each block waits for the one before it; more of them than may run at a time.
TEST_F(Seed, BlocksThatWaitForEarlierOnesEnd) {
  load(".visible .entry k(.param .u64 p) { .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %x<3>;\n"
       "ld.param.u64 %x0, [p]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %x1, %r0, 4;\n"
       "add.u64 %x1, %x0, %x1; A: ld.acquire.gpu.global.u32 %r1, [%x1];\n"
       "setp.eq.u32 %p, %r1, 0; @%p bra A; st.release.gpu.global.u32 [%x1+4], 1; ret; }\n");
  limits_.resident_warps = 16;
  for (const unsigned workers : {1u, 4u}) {
    workers_ = workers;
    seed_ = 5;
    std::vector<std::uint32_t> flags(101);
    flags[0] = 1;
    const std::uint64_t a = put(flags);
    EXPECT_EQ(run({100}, {32}, {a}).end, End::kDone);
    EXPECT_EQ(get<std::uint32_t>(a, 101)[100], 1u);
  }
}

// Blocks behind the one that ends the grid do not count, in whichever order they started.
TEST_F(Seed, ATrapEndsTheGridAtItsBlock) {
  load(
    ".visible .entry k(.param .u64 p) { .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %x<3>;\n"
    "ld.param.u64 %x0, [p]; mov.u32 %r0, %ctaid.x; setp.eq.u32 %p, %r0, 40; @%p bra A;\n"
    "mul.wide.u32 %x1, %r0, 4; add.u64 %x1, %x0, %x1; st.global.u32 [%x1], 1; ret; A: trap; }\n");
  for (const unsigned workers : {1u, 4u}) {
    workers_ = workers;
    seed_ = 9;
    recorder_.reports.clear();
    const std::uint64_t a = put(std::vector<std::uint32_t>(3000));
    const Outcome outcome = run({3000}, {1}, {a});
    EXPECT_EQ(outcome.end, End::kFault);
    EXPECT_EQ(outcome.blocks_done, 40u);
    EXPECT_EQ(only().location.block.x, 40u);
    const auto out = get<std::uint32_t>(a, 40);
    EXPECT_EQ(std::count(out.begin(), out.end(), 1u), 40);
  }
}

TEST(BlockOrder, WindowsFollowEachOther) {
  BlockOrder order(10, 4, 4);
  EXPECT_TRUE(order.is_mixed());
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < 10; ++i) {
    all.push_back(order.at(i));
    EXPECT_EQ(all.back() / 4, i / 4);
    EXPECT_EQ(order.first_of_window(i), i / 4 * 4);
  }
  std::sort(all.begin(), all.end());
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(all[i], i);
  EXPECT_FALSE(BlockOrder(10, 0, 4).is_mixed());
  EXPECT_EQ(BlockOrder(10, 0, 4).at(7), 7u);
}

TEST(BlockOrderOfSome, OthersStartAsTheyAreNumbered) {
  for (const std::uint64_t mixed : {0u, 1u, 5u, 12u, 100u}) {
    BlockOrder order(20, 7, 8, mixed);
    std::vector<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 20; ++i) seen.push_back(order.at(i));
    for (std::uint64_t i = mixed; i < 20; ++i) EXPECT_EQ(seen[i], i);
    EXPECT_EQ(std::ranges::is_sorted(seen), mixed < 2) << mixed;
    std::ranges::sort(seen);
    for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(seen[i], i);
  }
}

} // namespace
} // namespace gmt::executor
