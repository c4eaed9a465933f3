// SPDX-License-Identifier: Apache-2.0
// The timeline of a trace: its calls, counters and ranges, what is left out, and parts of a run.
// In these traces a call's time is 1,000 times its order, and a tick is a nanosecond.

#include "analyzer/analysis/timeline/counter_series.h"
#include "analyzer/base/quantities.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::RangeOp;

class TimelineTest : public AnalysisTest {
protected:
  void SetUp() override {
    options.timeline = {.slices = 100, .samples = 100, .ranges = 100};
    trace.info = {"tsc=1", "monotonic_ns=1", "realtime_ns=5000000"};
    trace.complete += "tsc=1000001\nmonotonic_ns=1000001\n";
  }
  const Timeline& timeline() {
    run();
    return *result.process.timeline;
  }
  static std::uint64_t highest(const Timeline::Counter& counter) {
    std::uint64_t high = 0;
    for (const Timeline::Sample& sample : counter.samples) high = std::max(high, sample.bytes);
    return high;
  }
};

TEST_F(TimelineTest, IsMadeOnlyIfItIsAskedFor) {
  options.timeline.slices = 0;
  cuda_malloc(kA, kMiB);
  run();
  EXPECT_FALSE(result.process.timeline.has_value());
}

TEST_F(TimelineTest, CallsHaveTheirNamesTimesAndSizes) {
  log().alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .stack = {0x100}, .ticks = 70},
              MemoryKind::kDevice, kA, kMiB);
  cuda_memcpy(kA, kHost, 4096);
  log().alloc({.api = "cuMemAlloc_v2", .result = 2}, MemoryKind::kDevice, 0, 9 * kMiB);
  const Timeline& timeline = this->timeline();
  ASSERT_EQ(timeline.slices.size(), 3u);
  const Timeline::Slice& first = timeline.slices[0];
  EXPECT_EQ(timeline.calls[first.call], "cudaMalloc");
  EXPECT_EQ(first.begin, 0u);
  EXPECT_EQ(first.ticks, 70u);
  EXPECT_EQ(first.bytes, kMiB);
  EXPECT_EQ(timeline.slices[1].begin, 1000u);
  EXPECT_EQ(timeline.slices[1].bytes, 4096u);
  EXPECT_EQ(timeline.calls[timeline.slices[2].call], "cuMemAlloc");
  EXPECT_EQ(timeline.slices[2].result, 2u);
  EXPECT_EQ(timeline.threads.size(), 1u);
  EXPECT_EQ(timeline.begin_realtime, 5'000'999u);
  EXPECT_DOUBLE_EQ(timeline.nanoseconds_per_unit, 1);
}

TEST_F(TimelineTest, CountersAreByDeviceAndKindAndReachThePeak) {
  log().context(1, 0x11, 0, true);
  cuda_malloc(kA, 3 * kMiB);
  log().alloc({.api = "cuMemAllocAsync"}, MemoryKind::kStreamOrdered, kB, 2 * kMiB);
  cuda_free(kA);
  const Timeline& timeline = this->timeline();
  ASSERT_EQ(timeline.counters.size(), 2u);
  for (const Timeline::Counter& counter : timeline.counters) {
    EXPECT_EQ(counter.device, 0);
    const bool is_plain = counter.memory == "device memory";
    EXPECT_EQ(highest(counter), (is_plain ? 3 : 2) * kMiB) << counter.memory;
    EXPECT_EQ(counter.samples.back().bytes, is_plain ? 0 : 2 * kMiB);
    EXPECT_EQ(counter.samples.front().time, 0u);
  }
}

TEST_F(TimelineTest, ShortCallsAreLeftOutFirstAndCounted) {
  options.timeline.slices = 3;
  for (std::uint64_t i = 0; i < 8; ++i) {
    log().alloc({.api = "cuMemAlloc_v2",
                 .result = i == 5 ? std::uint16_t{2} : std::uint16_t{0},
                 .ticks = 10 + i},
                MemoryKind::kDevice, i == 5 ? 0 : kA + i * kMiB, 4096);
  }
  const Timeline& timeline = this->timeline();
  ASSERT_EQ(timeline.slices.size(), 3u);
  EXPECT_EQ(timeline.left_out_slices, 5u);
  EXPECT_EQ(timeline.slices[0].result, 2u); // the refused one, then the longest
  EXPECT_EQ(timeline.slices[1].ticks, 16u);
  EXPECT_EQ(timeline.slices[2].ticks, 17u);
}

TEST_F(TimelineTest, OfAPartOfARunOnlyThatPartHasDetails) {
  cuda_malloc(kA, 8 * kMiB);
  cuda_free(kA);
  cuda_malloc(kB, kMiB);
  cuda_malloc(kC, 2 * kMiB); // 3 us behind the first call
  cuda_free(kB);
  cuda_free(kC);
  options.span = {.from = 2500, .to = 4500};
  options.history.columns = 64;
  const Timeline& timeline = this->timeline();
  ASSERT_EQ(timeline.slices.size(), 2u);
  EXPECT_EQ(timeline.slices[0].begin, 3000u);
  ASSERT_EQ(timeline.counters.size(), 1u);
  EXPECT_EQ(timeline.counters[0].samples.front().bytes, kMiB); // when the part begins
  EXPECT_EQ(highest(timeline.counters[0]), 3 * kMiB);
  EXPECT_EQ(timeline.counters[0].samples.back().bytes, 2 * kMiB);
  const MemoryHistory& history = *result.process.history;
  EXPECT_TRUE(history.is_part);
  EXPECT_EQ(history.begin, 3000u);
  std::uint64_t high = 0;
  for (const MemoryHistory::Column& column : history.columns) high = std::max(high, column.high);
  EXPECT_EQ(high, 3 * kMiB);
  EXPECT_EQ(history.columns.back().last, 2 * kMiB);
  EXPECT_EQ(history.peak_time, 0u);
  EXPECT_EQ(result.process.totals.peak_bytes, 8 * kMiB); // totals are the whole run's
}

TEST_F(TimelineTest, APartWithoutCallsIsEmptyAndStillHasWhatIsAlive) {
  cuda_malloc(kA, 8 * kMiB);
  options.span = {.from = 1e9, .to = {}};
  options.history.columns = 64;
  EXPECT_TRUE(timeline().slices.empty());
  ASSERT_EQ(result.process.history->columns.size(), 1u);
  EXPECT_EQ(result.process.history->columns[0].low, 8 * kMiB);
}

TEST_F(TimelineTest, FindingsHaveTheMomentOfTheirFirstExample) {
  expect_only({"double-free", "leak"});
  cuda_malloc(kB, kMiB);
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  cuda_free(kA, 1);
  run();
  ASSERT_NE(find("double-free"), nullptr);
  ASSERT_TRUE(find("double-free")->moment.has_value());
  EXPECT_EQ(find("double-free")->moment->time, 4000u);
  ASSERT_NE(find("leak"), nullptr);
  EXPECT_FALSE(find("leak")->moment.has_value());
}

TEST(CounterSeriesTest, KeepsThePeakAndTheEndInBoundedRoom) {
  CounterSeries sums(64);
  for (std::uint64_t time = 0; time < 100'000; ++time)
    sums.set(time % 3, time, time == 54'321 ? 1'000'000 : time % 1000);
  std::size_t count = 0;
  std::uint64_t high = 0;
  for (std::size_t series = 0; series < 3; ++series) {
    const std::vector<MemoryHistory::Sample> samples = sums.samples(series);
    count += samples.size();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      high = std::max(high, samples[i].bytes);
      if (i == 0) continue;
      EXPECT_GT(samples[i].time, samples[i - 1].time);
    }
    EXPECT_EQ(samples.back().time, 99'997 + (series + 2) % 3);
    EXPECT_EQ(samples.back().bytes, samples.back().time % 1000);
  }
  EXPECT_EQ(high, 1'000'000u);
  EXPECT_LE(count, 128u);
  EXPECT_GT(sums.width(), 1u);
}

TEST(QuantitiesTest, TimesHaveUnits) {
  EXPECT_EQ(parse_time("1.5s"), 1.5e9);
  EXPECT_EQ(parse_time("2"), 2e9);
  EXPECT_EQ(parse_time("200ms"), 2e8);
  EXPECT_EQ(parse_time("12us"), 12'000);
  EXPECT_EQ(parse_time("7ns"), 7);
  for (const char* wrong : {"", "s", "-1s", "1.5.2s", "1 s", "3h", "1e3s", "nan"})
    EXPECT_FALSE(parse_time(wrong).has_value()) << wrong;
}

} // namespace
} // namespace gmt::test
