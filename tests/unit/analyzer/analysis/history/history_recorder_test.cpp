// SPDX-License-Identifier: Apache-2.0
// The history of a trace: its layers, calls, ranges, stacks, and that its figures are the totals'.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::RangeOp;

class History : public AnalysisTest {
protected:
  void SetUp() override { options.history.columns = 64; }
  const MemoryHistory& history() {
    run();
    return *result.process.history;
  }
  const MemoryHistory::LayerSet* set(const std::string& by) {
    for (const MemoryHistory::LayerSet& found : result.process.history->sets)
      if (found.by == by) return &found;
    return nullptr;
  }
  std::map<std::string, std::uint64_t> most(const std::string& by) {
    std::map<std::string, std::uint64_t> figures;
    for (const MemoryHistory::Layer& layer : set(by)->layers) figures[layer.name] = layer.most;
    return figures;
  }
  static std::uint64_t count(const MemoryHistory& history, Activity activity) {
    std::uint64_t sum = 0;
    for (const MemoryHistory::Column& column : history.columns)
      sum += column.counts[static_cast<std::size_t>(activity)];
    return sum;
  }
};

TEST_F(History, IsMadeOnlyIfItIsAskedFor) {
  cuda_malloc(kA, kMiB);
  options.history.columns = 0;
  run();
  EXPECT_FALSE(result.process.history.has_value());
}

TEST_F(History, EndsAndPeaksAsTheTotalsSay) {
  cuda_malloc(kA, 3 * kMiB, 0x100);
  cuda_malloc(kB, 2 * kMiB, 0x110);
  cuda_free(kA);
  cuda_malloc(kC, kMiB, 0x100);
  const MemoryHistory& history = this->history();
  const Totals& totals = result.process.totals;
  std::uint64_t high = 0;
  for (const MemoryHistory::Column& column : history.columns) high = std::max(high, column.high);
  EXPECT_EQ(high, totals.peak_bytes);
  EXPECT_EQ(high, 5 * kMiB);
  EXPECT_EQ(history.columns.back().last, totals.live_bytes);
  EXPECT_EQ(count(history, Activity::kAllocation), totals.allocations);
  EXPECT_EQ(count(history, Activity::kFree), totals.frees);
  StackMemory sum = history.other_stacks;
  for (const StackMemory& stack : history.stacks) {
    sum.peak_bytes += stack.peak_bytes;
    sum.live_bytes += stack.live_bytes;
    sum.allocations += stack.allocations;
    sum.allocated_bytes += stack.allocated_bytes;
  }
  EXPECT_EQ(sum.peak_bytes, totals.peak_bytes);
  EXPECT_EQ(sum.live_bytes, totals.live_bytes);
  EXPECT_EQ(sum.allocations, totals.allocations);
  EXPECT_EQ(sum.allocated_bytes, totals.allocated_bytes);
}

TEST_F(History, HostMemoryIsNoDeviceMemory) {
  cuda_malloc(kA, kMiB);
  cuda_malloc_host(kB, 7 * kMiB);
  const MemoryHistory& history = this->history();
  EXPECT_EQ(history.columns.back().high, kMiB);
  EXPECT_EQ(set("kind of memory")->layers.size(), 1u);
}

TEST_F(History, RangesHoldWhatWasAllocatedInThemWhereverItIsFreed) {
  cuda_malloc(kC, kMiB);
  log().range(RangeOp::kPush, "load");
  cuda_malloc(kA, 4 * kMiB);
  log().range(RangeOp::kPop, "", 0);
  log().range(RangeOp::kPush, "train");
  cuda_malloc(kB, 2 * kMiB);
  cuda_free(kA);
  log().range(RangeOp::kPop, "", 0);
  const MemoryHistory& history = this->history();
  EXPECT_EQ(most("NVTX range"), (std::map<std::string, std::uint64_t>{
                                  {"no range", kMiB}, {"load", 4 * kMiB}, {"train", 2 * kMiB}}));
  for (const MemoryHistory::Layer& layer : set("NVTX range")->layers)
    EXPECT_EQ(layer.steps.back().second, layer.name == "load" ? 0 : layer.most) << layer.name;
  ASSERT_EQ(history.ranges.size(), 2u);
  EXPECT_EQ(history.ranges[0].name, "load");
  EXPECT_LE(history.ranges[0].end, history.ranges[1].begin);
  EXPECT_FALSE(history.ranges[1].is_open);
}

TEST_F(History, NestedAndStartedRangesHaveLanes) {
  log().range(RangeOp::kStart, "run", 17);
  log().range(RangeOp::kPush, "outer");
  log().range(RangeOp::kPush, "inner");
  cuda_malloc(kA, kMiB);
  log().range(RangeOp::kPop, "", 1);
  cuda_free(kA);
  const MemoryHistory& history = this->history();
  ASSERT_EQ(history.ranges.size(), 3u);
  EXPECT_EQ(history.ranges[1].name, "outer");
  EXPECT_TRUE(history.ranges[1].is_open);
  EXPECT_EQ(history.ranges[2].depth, 1u);
  EXPECT_FALSE(history.ranges[2].is_open);
  EXPECT_NE(history.ranges[0].thread, history.ranges[1].thread);
}

TEST_F(History, LibrariesAreThoseThatAllocated) {
  trace.modules = {"+\t1\t1000\t2000\t1000\t\t/home/me/train",
                   "+\t1\t3000\t4000\t3000\t\t/usr/lib/libcublas.so.13"};
  cuda_malloc(kA, kMiB, 0x1100);
  cuda_malloc(kB, 2 * kMiB, 0x3100);
  cuda_malloc(kC, 4 * kMiB, 0x1200);
  cuda_free(kA);
  history();
  EXPECT_EQ(most("library"),
            (std::map<std::string, std::uint64_t>{{"train", 5 * kMiB}, {"cuBLAS", 2 * kMiB}}));
}

TEST_F(History, SmallLayersAndStacksAreCountedTogether) {
  options.history.layers = 2;
  options.history.stacks = 1;
  for (std::uint64_t i = 0; i < 6; ++i)
    cuda_malloc(kA + i * 16 * kMiB, (i + 1) * kMiB, 0x1000 + 16 * i);
  const MemoryHistory& history = this->history();
  ASSERT_EQ(set("call stack")->layers.size(), 2u);
  EXPECT_EQ(set("call stack")->layers[0].most, 6 * kMiB);
  EXPECT_EQ(set("call stack")->other_layers, 4u);
  // The largest by each figure, and those of the layers.
  EXPECT_EQ(history.stacks.size() + history.other_stack_count, 6u);
  EXPECT_GE(history.other_stack_count, 3u);
}

TEST_F(History, FailedAllocationsAreMarked) {
  cuda_malloc(kA, kMiB);
  log().alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .result = 2, .stack = {0x100}},
              MemoryKind::kDevice, 0, 77 * kMiB);
  const MemoryHistory& history = this->history();
  ASSERT_EQ(history.failures.size(), 1u);
  EXPECT_EQ(history.failures[0].bytes, 77 * kMiB);
  EXPECT_EQ(count(history, Activity::kFailure), 1u);
  EXPECT_EQ(count(history, Activity::kAllocation), 1u);
}

} // namespace
} // namespace gmt::test
