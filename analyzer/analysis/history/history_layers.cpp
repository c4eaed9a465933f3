// SPDX-License-Identifier: Apache-2.0
// See history_layers.h.

#include "analyzer/analysis/history/history_layers.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "analyzer/analysis/owners.h"
#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/symbols/frame_trim.h"

namespace gmt {
namespace {

using Entry = LayerSeries::Entry;
using Layer = MemoryHistory::Layer;
using Step = MemoryHistory::Step;

std::vector<Step> steps_of(const std::vector<Entry>& entries) {
  std::vector<Step> steps;
  const auto add = [&steps](std::uint32_t column, std::uint64_t bytes) {
    if (!steps.empty() && steps.back().second == bytes) return;
    if (steps.empty() && bytes == 0) return;
    steps.emplace_back(column, bytes);
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    add(entries[i].column, entries[i].at_high);
    const bool follows = i + 1 < entries.size() && entries[i + 1].column == entries[i].column + 1;
    if (!follows) add(entries[i].column + 1, entries[i].last);
  }
  return steps;
}

// The layers with the largest `most`, largest first.
template <class Items, class Most>
void keep_largest(Items& items, std::size_t most_layers, const Most& most) {
  std::ranges::stable_sort(items, std::ranges::greater{}, most);
  if (items.size() > most_layers) items.resize(most_layers);
}

// Of one set, named by `name_of(id)`.
template <class NameOf>
MemoryHistory::LayerSet set_of(std::string by, const LayerSeries& series, std::size_t most_layers,
                               const NameOf& name_of, bool by_stack = false) {
  std::vector<std::pair<LayerSeries::Id, std::uint64_t>> chosen;
  for (std::size_t i = 0; i < series.layers().size(); ++i) {
    const std::uint64_t most = most_of(series.layers()[i]);
    if (most != 0) chosen.emplace_back(static_cast<LayerSeries::Id>(i), most);
  }
  const std::size_t all = chosen.size();
  keep_largest(chosen, most_layers, [](const auto& layer) { return layer.second; });
  MemoryHistory::LayerSet set{std::move(by), {}, all - chosen.size()};
  for (const auto& [id, most] : chosen) {
    set.layers.push_back({.name = name_of(id),
                          .stack = {},
                          .most = most,
                          .steps = steps_of(series.layers()[id].entries)});
    if (by_stack) set.layers.back().stack = StackId{id};
  }
  return set;
}

// The sum of several layers, from what each changes at each column.
class Sum {
public:
  explicit Sum(std::size_t columns) : changes_(columns + 1) {}

  void add(const std::vector<Entry>& entries) {
    std::uint64_t last = 0;
    for (const Entry& entry : entries) {
      changes_[entry.column] += entry.at_high - last;
      changes_[entry.column + 1] += entry.last - entry.at_high;
      last = entry.last;
    }
  }

  Layer layer(std::string name) const {
    Layer layer{.name = std::move(name), .stack = {}, .most = 0, .steps = {}};
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i + 1 < changes_.size(); ++i) {
      if (changes_[i] == 0) continue;
      bytes += changes_[i];
      layer.most = std::max(layer.most, bytes);
      layer.steps.emplace_back(static_cast<std::uint32_t>(i), bytes);
    }
    return layer;
  }

private:
  std::vector<std::uint64_t> changes_; // modulo 2^64, so that they may be negative
};

std::string library_name(const Module* module) {
  if (module == nullptr) return "unknown";
  const std::string_view owner = owner_of_module(module->path);
  return owner.empty() ? std::filesystem::path(module->path).filename().string()
                       : std::string(owner);
}

MemoryHistory::LayerSet by_library(const HistoryColumns& columns, const LayerNames& names,
                                   std::size_t most_layers) {
  std::map<std::string, Sum> sums;
  const std::vector<LayerSeries::Layer>& stacks = columns.set(kByStack).layers();
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].entries.empty()) continue;
    const StackId stack{static_cast<std::uint32_t>(i)};
    const Module* module = calling_module(names.modules, names.stacks.frames(stack));
    sums.try_emplace(library_name(module), columns.columns().size())
      .first->second.add(stacks[i].entries);
  }
  MemoryHistory::LayerSet set{"library", {}, 0};
  for (const auto& [name, sum] : sums) set.layers.push_back(sum.layer(name));
  keep_largest(set.layers, most_layers, &Layer::most);
  set.other_layers = sums.size() - set.layers.size();
  return set;
}

} // namespace

std::vector<MemoryHistory::LayerSet> layer_sets(const HistoryColumns& columns,
                                                const LayerNames& names, std::size_t most_layers) {
  std::vector<MemoryHistory::LayerSet> sets;
  sets.push_back(
    set_of("kind of memory", columns.set(kByKind), most_layers, [](LayerSeries::Id id) {
      std::string name(memory_noun(static_cast<trace::MemoryKind>(id % kKindsADevice)));
      const LayerSeries::Id device = id / kKindsADevice;
      return device == 0 ? name : cat({name, ", device ", std::to_string(device - 1)});
    }));
  sets.push_back(by_library(columns, names, most_layers));
  sets.push_back(set_of(
    "call stack", columns.set(kByStack), most_layers, [](LayerSeries::Id) { return std::string(); },
    true));
  if (names.ranges.any()) {
    sets.push_back(
      set_of("NVTX range", columns.set(kByRange), most_layers, [&names](LayerSeries::Id id) {
        return id == 0 ? std::string("no range") : names.ranges.text(id);
      }));
  }
  return sets;
}

} // namespace gmt
