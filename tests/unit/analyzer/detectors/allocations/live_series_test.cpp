// SPDX-License-Identifier: Apache-2.0
// What counts as memory that rises for good: not what fills, comes in bursts or differs in size.

#include "analyzer/detectors/shared/live_series.h"

#include <cstdint>
#include <deque>

#include <gtest/gtest.h>

namespace gmt::test {
namespace {

constexpr std::uint64_t kBytes = 4096, kOrdersOfStep = 10;

// A program whose steps allocate in turn, and free what they like.
class Program {
public:
  void allocate(std::uint64_t bytes = kBytes) {
    series.on_allocated(bytes, order_);
    sizes_.push_back(bytes);
  }
  void free_oldest() {
    series.on_freed(sizes_.front());
    sizes_.pop_front();
  }
  std::size_t alive() const { return sizes_.size(); }
  void end_step() { order_ += kOrdersOfStep; }

  LiveSeries series;

private:
  std::deque<std::uint64_t> sizes_;
  std::uint64_t order_ = 1000;
};

TEST(LiveSeries, WhatEachStepKeepsRises) {
  for (const int steps : {40, 300, 20'000}) {
    Program program;
    for (int i = 0; i < steps; ++i) {
      program.allocate();
      program.allocate();
      program.free_oldest();
      program.end_step();
    }
    const auto rise = program.series.rise();
    ASSERT_TRUE(rise) << steps;
    EXPECT_NEAR(rise->bytes * kOrdersOfStep, kBytes, kBytes / 5) << steps;
    EXPECT_NEAR(rise->blocks * kOrdersOfStep, 1, 0.2) << steps;
    EXPECT_EQ(program.series.bytes_then(), (static_cast<std::uint64_t>(steps) + 1) * kBytes);
  }
}

// As results of graphs, each for a larger shape than the one before.
TEST(LiveSeries, WhatEachStepKeepsMoreOfRises) {
  Program program;
  for (std::uint64_t i = 0; i < 60; ++i) {
    program.allocate(kBytes * (i + 1));
    program.end_step();
  }
  EXPECT_TRUE(program.series.rise());
}

// A little more from each step, and very much from the last ones.
TEST(LiveSeries, AJumpAtTheEndDoesNot) {
  Program program;
  for (std::uint64_t i = 0; i < 400; ++i) {
    program.allocate(kBytes * (i < 350 ? i + 1 : 100'000));
    program.end_step();
  }
  EXPECT_FALSE(program.series.rise());
}

TEST(LiveSeries, WhatEachStepKeepsLessOfDoesNot) {
  Program program;
  for (std::uint64_t i = 0; i < 400; ++i) {
    program.allocate(kBytes * 1000 / (i * i + 1) + 1);
    program.end_step();
  }
  EXPECT_FALSE(program.series.rise());
}

TEST(LiveSeries, OrdersThatGoBackAreThoseOfTheLastOne) {
  LiveSeries series;
  for (std::uint64_t i = 0; i < 100; ++i) series.on_allocated(kBytes, 1000 + 10 * i);
  series.on_allocated(kBytes, 1200);
  EXPECT_EQ(series.last_order(), 1990u);
  EXPECT_TRUE(series.rise());
}

TEST(LiveSeries, FewAllocationsSayNothing) {
  Program program;
  for (int i = 0; i < 31; ++i) {
    program.allocate();
    program.end_step();
  }
  EXPECT_FALSE(program.series.rise());
}

TEST(LiveSeries, WhatIsBoundedDoesNotRise) {
  Program program;
  for (int i = 0; i < 1000; ++i) {
    program.allocate();
    if (program.alive() > 200) program.free_oldest();
    program.end_step();
  }
  EXPECT_FALSE(program.series.rise());
}

TEST(LiveSeries, ACacheFillsEverMoreSlowly) {
  Program program;
  for (int i = 1; i < 4000; ++i) {
    if (i < 100 || i % (i / 100) == 0) program.allocate();
    program.end_step();
  }
  EXPECT_FALSE(program.series.rise());
}

TEST(LiveSeries, BatchesOfAnySize) {
  Program program;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    program.allocate(kBytes * (1 + i * 7919 % 64));
    if (program.alive() > 1) program.free_oldest();
    program.end_step();
  }
  EXPECT_FALSE(program.series.rise());
}

// Larger and larger ones, of which one is alive: the text of a model that generates.
TEST(LiveSeries, OneBlockThatBecomesLarger) {
  Program program;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    program.allocate(kBytes * (1 + i));
    if (program.alive() > 1) program.free_oldest();
    program.end_step();
  }
  EXPECT_FALSE(program.series.rise());
}

TEST(LiveSeries, AnEvaluationNowAndThenIsEmptiedAgain) {
  Program program;
  for (int i = 0; i < 2000; ++i) {
    program.allocate();
    if (program.alive() == 1 || i % 100 != 99) continue;
    while (program.alive() > 1) program.free_oldest();
    program.end_step();
  }
  EXPECT_FALSE(program.series.rise());
}

} // namespace
} // namespace gmt::test
