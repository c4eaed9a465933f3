// SPDX-License-Identifier: Apache-2.0
// The columns of a MemoryHistory and the layers in them, while events pass by. When time leaves the
// last column that there may be, each two columns become one. When layers need more room than they
// have, the past of the small ones is forgotten; it belongs to the rest then.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/analysis/history/layer_series.h"
#include "analyzer/analysis/history/memory_history.h"

namespace gmt {

class HistoryColumns {
public:
  static constexpr std::size_t kSets = 4;
  static constexpr std::size_t kMostEntries = 2'000'000; // of all layers: 48 MB
  using Ids = std::array<LayerSeries::Id, kSets>;        // of a change: its layer in each set

  explicit HistoryColumns(std::size_t most_columns, std::size_t most_entries = kMostEntries)
      : most_columns_(most_columns), most_entries_(most_entries) {}

  // The clock: a time that is before an earlier one counts as that one.
  void advance(std::uint64_t time) {
    if (time >= column_end_) open(time);
  }
  void count(Activity activity) {
    if (!columns_.empty()) ++columns_.back().counts[static_cast<std::size_t>(activity)];
  }
  void change(const Ids& ids, std::int64_t bytes, std::uint64_t total);
  void close(); // after the last change
  // Behind close(): columns that are at least so wide. Widths of two are equal then, as long as
  // both began at the same time.
  void coarsen_to(std::uint64_t width) {
    while (!columns_.empty() && this->width() < width) coarsen();
  }
  // Forgets all columns; the next one begins at this time, with what is alive now.
  void restart(std::uint64_t time);

  std::uint64_t begin() const { return begin_; }
  std::uint64_t width() const { return std::uint64_t{1} << shift_; }
  const std::vector<MemoryHistory::Column>& columns() const { return columns_; }
  const LayerSeries& set(std::size_t i) const { return sets_[i]; }

private:
  void open(std::uint64_t time);
  void coarsen();
  void make_room();
  std::size_t entries() const;

  const std::size_t most_columns_, most_entries_;
  std::vector<MemoryHistory::Column> columns_; // the newest one is open
  std::array<LayerSeries, kSets> sets_;
  std::uint64_t begin_ = 0, column_end_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t high_number_ = 1; // of the newest most of a column
  unsigned shift_ = 0;            // the width's logarithm
};

} // namespace gmt
