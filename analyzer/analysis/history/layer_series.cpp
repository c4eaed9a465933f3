// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/history/layer_series.h"

#include <algorithm>

namespace gmt {
namespace {

using SeriesEntry = LayerSeries::Entry;

// Joins the entries of each two columns. Where only one of the two has an entry, the layer
// held all through the other what it held at that one's border.
void join_pairs(std::vector<SeriesEntry>& entries, const std::vector<bool>& second_is_higher) {
  std::size_t kept = 0;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const SeriesEntry first = entries[i];
    const std::uint32_t pair = first.column / 2;
    const bool second_counts = second_is_higher[pair];
    SeriesEntry joined{pair, first.at_high, first.last};
    if (first.column % 2 != 0) {
      if (!second_counts) joined.at_high = before;
    } else if (i + 1 < entries.size() && entries[i + 1].column == first.column + 1) {
      const SeriesEntry second = entries[++i];
      if (second_counts) joined.at_high = second.at_high;
      joined.last = second.last;
    } else if (second_counts) {
      joined.at_high = first.last;
    }
    before = joined.last;
    entries[kept++] = joined;
  }
  entries.resize(kept);
}

} // namespace

void LayerSeries::change(Id id, std::int64_t bytes, std::uint32_t column,
                         std::uint64_t high_number) {
  if (id >= layers_.size()) layers_.resize(id + std::size_t{1});
  Layer& layer = layers_[id];
  if (layer.entries.empty() || layer.entries.back().column != column) {
    layer.entries.push_back({column, layer.bytes, layer.bytes});
    ++entries_;
    changed_.push_back(id);
  } else if (layer.mark != high_number) {
    layer.entries.back().at_high = layer.bytes;
  }
  layer.mark = high_number;
  layer.bytes += static_cast<std::uint64_t>(bytes);
  layer.entries.back().last = layer.bytes;
}

void LayerSeries::close(std::uint64_t high_number) {
  for (const Id id : changed_) {
    Layer& layer = layers_[id];
    if (layer.entries.empty() || layer.mark == high_number) continue;
    layer.entries.back().at_high = layer.entries.back().last;
    layer.mark = high_number;
  }
  changed_.clear();
}

void LayerSeries::coarsen(const std::vector<bool>& second_is_higher, std::uint64_t high_number) {
  close(high_number);
  const auto newest = static_cast<std::uint32_t>(second_is_higher.size() - 1);
  entries_ = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    if (layer.entries.empty()) continue;
    join_pairs(layer.entries, second_is_higher);
    entries_ += layer.entries.size();
    if (layer.entries.back().column != newest) continue;
    changed_.push_back(static_cast<Id>(i));
    layer.mark = high_number;
  }
}

void LayerSeries::restart(std::uint64_t high_number) {
  changed_.clear();
  entries_ = 0;
  for (Layer& layer : layers_) {
    layer.entries.clear();
    layer.mark = high_number;
    if (layer.bytes == 0) continue;
    layer.entries.push_back({0, layer.bytes, layer.bytes});
    changed_.push_back(static_cast<Id>(&layer - layers_.data()));
    ++entries_;
  }
}

void LayerSeries::forget_smaller_half() {
  std::vector<std::uint64_t> most;
  for (const Layer& layer : layers_) {
    if (!layer.entries.empty()) most.push_back(most_of(layer));
  }
  if (most.empty()) return;
  const auto middle = most.begin() + static_cast<std::ptrdiff_t>(most.size() / 2);
  std::ranges::nth_element(most, middle);
  std::size_t to_forget = (most.size() + 1) / 2;
  for (Layer& layer : layers_) {
    if (to_forget == 0) break;
    if (layer.entries.empty() || most_of(layer) > *middle) continue;
    entries_ -= layer.entries.size();
    layer.entries = {};
    --to_forget;
  }
}

std::size_t LayerSeries::known_layers() const {
  return static_cast<std::size_t>(
    std::ranges::count_if(layers_, [](const Layer& layer) { return !layer.entries.empty(); }));
}

std::uint64_t most_of(const LayerSeries::Layer& layer) {
  std::uint64_t most = 0;
  for (const SeriesEntry& entry : layer.entries) most = std::max({most, entry.at_high, entry.last});
  return most;
}

} // namespace gmt
