// SPDX-License-Identifier: Apache-2.0
// Columns and layers against what a record of every change says.

#include "analyzer/analysis/history/history_columns.h"

#include <algorithm>
#include <map>
#include <random>

#include "analyzer/analysis/history/peak_window.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

struct Change {
  std::uint64_t time = 0;
  LayerSeries::Id layer = 0;
  std::int64_t bytes = 0;
};

// What a column has to say: its figures, and the layers at its first moment of most memory.
struct Truth {
  std::uint64_t low = 0, high = 0, last = 0;
  std::map<LayerSeries::Id, std::uint64_t> at_high;
};

std::vector<Truth> truth_of(const std::vector<Change>& changes, std::uint64_t width,
                            std::size_t columns) {
  std::vector<Truth> truths(columns);
  std::map<LayerSeries::Id, std::uint64_t> now;
  std::uint64_t total = 0;
  std::size_t at = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    Truth& truth = truths[column];
    truth = {total, total, total, now};
    const std::uint64_t end = changes.front().time + (column + 1) * width;
    for (; at < changes.size() && changes[at].time < end; ++at) {
      now[changes[at].layer] += static_cast<std::uint64_t>(changes[at].bytes);
      total += static_cast<std::uint64_t>(changes[at].bytes);
      truth.last = total;
      truth.low = std::min(truth.low, total);
      if (total <= truth.high) continue;
      truth.high = total;
      truth.at_high = now;
    }
  }
  return truths;
}

std::uint64_t value_at(const LayerSeries& series, LayerSeries::Id id, std::uint32_t column) {
  std::uint64_t value = 0;
  if (id >= series.layers().size()) return 0;
  for (const LayerSeries::Entry& entry : series.layers()[id].entries) {
    if (entry.column > column) break;
    value = entry.column == column ? entry.at_high : entry.last;
  }
  return value;
}

std::vector<Change> random_changes(std::mt19937& dice, std::size_t count) {
  std::vector<Change> changes{{5000, 0, 1}};
  std::vector<std::pair<LayerSeries::Id, std::int64_t>> live;
  while (changes.size() < count) {
    // Pauses of any length, so that columns stay empty and are joined at any point.
    const std::uint64_t pause = dice() % 4 == 0 ? 1ull << dice() % 20 : dice() % 8;
    const std::uint64_t time = changes.back().time + pause;
    if (live.empty() || dice() % 9 < 5) {
      live.emplace_back(dice() % 30, 1 + dice() % 1000);
      changes.push_back({time, live.back().first, live.back().second});
    } else {
      std::swap(live[dice() % live.size()], live.back());
      changes.push_back({time, live.back().first, -live.back().second});
      live.pop_back();
    }
  }
  return changes;
}

void play(const std::vector<Change>& changes, HistoryColumns& columns) {
  std::uint64_t total = 0;
  for (const Change& change : changes) {
    columns.advance(change.time);
    total += static_cast<std::uint64_t>(change.bytes);
    columns.change({change.layer, change.layer % 3, 0, change.layer % 7}, change.bytes, total);
  }
  columns.close();
}

TEST(HistoryColumns, SayWhatARecordOfEveryChangeSays) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 dice(seed);
    const std::vector<Change> changes = random_changes(dice, 40 + 60 * seed);
    HistoryColumns columns(64);
    play(changes, columns);
    ASSERT_LE(columns.columns().size(), 64u);
    const std::vector<Truth> truths = truth_of(changes, columns.width(), columns.columns().size());
    for (std::uint32_t i = 0; i < truths.size(); ++i) {
      const MemoryHistory::Column& column = columns.columns()[i];
      ASSERT_EQ(column.low, truths[i].low) << seed << ' ' << i;
      ASSERT_EQ(column.high, truths[i].high) << seed << ' ' << i;
      ASSERT_EQ(column.last, truths[i].last) << seed << ' ' << i;
      for (LayerSeries::Id layer = 0; layer < 30; ++layer) {
        const auto expected = truths[i].at_high.find(layer);
        const std::uint64_t bytes = expected == truths[i].at_high.end() ? 0 : expected->second;
        ASSERT_EQ(value_at(columns.set(0), layer, i), bytes) << seed << ' ' << i << ' ' << layer;
      }
    }
  }
}

TEST(HistoryColumns, LayersOfEachSetAddUpToTheColumn) {
  std::mt19937 dice(7);
  HistoryColumns columns(32);
  play(random_changes(dice, 3000), columns);
  for (std::uint32_t i = 0; i < columns.columns().size(); ++i) {
    for (std::size_t set = 0; set < HistoryColumns::kSets; ++set) {
      std::uint64_t sum = 0;
      for (LayerSeries::Id layer = 0; layer < 30; ++layer)
        sum += value_at(columns.set(set), layer, i);
      EXPECT_EQ(sum, columns.columns()[i].high);
    }
  }
}

TEST(HistoryColumns, AnHourAndAMicrosecondFitInTheSameColumns) {
  for (const std::uint64_t step : {1ull, 1'000'000ull, 1ull << 40}) {
    HistoryColumns columns(128);
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      columns.advance(i * step);
      columns.count(Activity::kLaunch);
      columns.change({0, 0, 0, 0}, 1, ++total);
    }
    columns.close();
    EXPECT_GT(columns.columns().size(), 64u);
    EXPECT_LE(columns.columns().size(), 128u);
    std::uint64_t launches = 0;
    for (const MemoryHistory::Column& column : columns.columns())
      launches += column.counts[static_cast<std::size_t>(Activity::kLaunch)];
    EXPECT_EQ(launches, 10'000u);
    EXPECT_EQ(columns.columns().back().high, total);
  }
}

TEST(HistoryColumns, VeryManyLayersKeepTheLargest) {
  constexpr std::size_t kEntries = 6000;
  HistoryColumns columns(256, kEntries);
  std::uint64_t total = 0;
  columns.advance(1);
  columns.change({0, 0, 0, 0}, 1 << 30, total += 1 << 30);
  for (LayerSeries::Id i = 1; i < 50'000; ++i) {
    columns.advance(i);
    columns.change({i, 1, 0, 0}, 8, total += 8);
  }
  columns.close();
  std::size_t entries = 0;
  for (std::size_t set = 0; set < HistoryColumns::kSets; ++set)
    entries += columns.set(set).entries();
  EXPECT_LE(entries, kEntries);
  EXPECT_EQ(most_of(columns.set(0).layers()[0]), 1u << 30);
  EXPECT_EQ(columns.columns().back().high, total);
  EXPECT_GT(columns.columns().size(), 128u);
}

TEST(PeakWindow, HasEveryChangeAroundThePeakAndNotThoseFarAway) {
  PeakWindow window;
  constexpr std::uint64_t kCount = 20'000, kPeak = 12'345;
  for (std::uint64_t i = 1; i <= kCount; ++i) window.add(10 * i, i == kPeak ? 1000 : i % 7);
  EXPECT_EQ(window.peak_time(), 10 * kPeak);
  const std::vector<MemoryHistory::Sample> samples = window.window();
  ASSERT_EQ(samples.size(), 2 * PeakWindow::kReach);
  EXPECT_EQ(samples.front().time, 10 * (kPeak - PeakWindow::kReach + 1));
  EXPECT_EQ(samples.back().time, 10 * (kPeak + PeakWindow::kReach));
  EXPECT_EQ(std::ranges::max(samples, {}, &MemoryHistory::Sample::bytes).time, 10 * kPeak);
}

TEST(PeakWindow, OfALateOrAnEarlyPeakHasWhatThereIs) {
  PeakWindow late, early;
  for (std::uint64_t i = 1; i <= 5000; ++i) {
    late.add(i, i);
    early.add(i, 6000 - i);
  }
  EXPECT_EQ(late.window().back().bytes, 5000u);
  EXPECT_EQ(late.window().size(), 2 * PeakWindow::kReach);
  EXPECT_EQ(early.window().front().time, 1u);
  EXPECT_EQ(early.window().size(), PeakWindow::kReach + 1);
}

} // namespace
} // namespace gmt::test
