// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/history/history_columns.h"

#include <algorithm>

namespace gmt {
namespace {

using Column = MemoryHistory::Column;

constexpr std::size_t kFewLayers = 256; // of which none is forgotten

Column joined(const Column& a, const Column& b) {
  Column both{std::min(a.low, b.low), std::max(a.high, b.high), b.last, a.counts};
  for (std::size_t i = 0; i < kActivities; ++i) both.counts[i] += b.counts[i];
  return both;
}

} // namespace

void HistoryColumns::open(std::uint64_t time) {
  if (columns_.empty()) {
    begin_ = time;
    columns_.push_back({total_, total_, total_, {}});
  }
  const std::uint64_t passed = time - begin_;
  while (passed >> shift_ >= most_columns_) coarsen();
  const std::uint64_t column = passed >> shift_;
  if (column + 1 > columns_.size()) {
    close();
    columns_.resize(column + 1, Column{total_, total_, total_, {}});
    ++high_number_;
  }
  column_end_ = begin_ + ((column + 1) << shift_);
}

void HistoryColumns::restart(std::uint64_t time) {
  columns_.clear();
  shift_ = 0;
  ++high_number_;
  for (LayerSeries& set : sets_) set.restart(high_number_);
  open(time);
}

void HistoryColumns::close() {
  for (LayerSeries& set : sets_) set.close(high_number_);
}

void HistoryColumns::change(const Ids& ids, std::int64_t bytes, std::uint64_t total) {
  if (columns_.empty()) open(0);
  const auto column = static_cast<std::uint32_t>(columns_.size() - 1);
  for (std::size_t i = 0; i < kSets; ++i) sets_[i].change(ids[i], bytes, column, high_number_);
  total_ = total;
  Column& now = columns_.back();
  now.last = total;
  now.low = std::min(now.low, total);
  if (total > now.high) {
    now.high = total;
    ++high_number_;
  }
  if (entries() > most_entries_) make_room();
}

void HistoryColumns::coarsen() {
  std::vector<bool> second_is_higher((columns_.size() + 1) / 2);
  for (std::size_t i = 0; i < second_is_higher.size(); ++i) {
    const Column first = columns_[2 * i];
    const bool has_second = 2 * i + 1 < columns_.size();
    second_is_higher[i] = has_second && columns_[2 * i + 1].high > first.high;
    columns_[i] = has_second ? joined(first, columns_[2 * i + 1]) : first;
  }
  columns_.resize(second_is_higher.size());
  for (LayerSeries& set : sets_) set.coarsen(second_is_higher, high_number_);
  ++shift_;
  column_end_ = begin_ + (columns_.size() << shift_);
}

void HistoryColumns::make_room() {
  while (entries() > most_entries_ / 2) {
    const auto largest = std::ranges::max_element(sets_, {}, &LayerSeries::entries);
    if (largest->known_layers() > kFewLayers) largest->forget_smaller_half();
    else if (columns_.size() > 1) coarsen();
    else return;
  }
}

std::size_t HistoryColumns::entries() const {
  std::size_t sum = 0;
  for (const LayerSeries& set : sets_) sum += set.entries();
  return sum;
}

} // namespace gmt
