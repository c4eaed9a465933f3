// SPDX-License-Identifier: Apache-2.0
// What each layer of one set (call stacks, say) held in each column, kept only where it changed.
//
// What a layer held when most was alive in a column is exact without looking at all layers then:
// each most has a number, and a layer that is about to change notes what it holds, unless it did so
// since the newest most. MemoryUse does the same for the peak.
#pragma once

#include <cstdint>
#include <vector>

namespace gmt {

class LayerSeries {
public:
  using Id = std::uint32_t;
  struct Entry {
    std::uint32_t column = 0;
    std::uint64_t at_high = 0; // when most was alive in the column, all layers together
    std::uint64_t last = 0;    // at the column's end, and until the next entry
  };
  struct Layer {
    std::uint64_t bytes = 0;
    std::uint64_t mark = 0; // number of the most for which the newest entry's at_high holds
    std::vector<Entry> entries;
  };

  // In this column, behind the most of this number.
  void change(Id id, std::int64_t bytes, std::uint32_t column, std::uint64_t high_number);
  // The column has ended; the newest most was of this number.
  void close(std::uint64_t high_number);
  // Joins each two columns, of a closed column or between two changes. `second_is_higher` has an
  // element for each two; the last of them goes on.
  void coarsen(const std::vector<bool>& second_is_higher, std::uint64_t high_number);
  // Forgets all columns. What each layer holds now is what it holds from column 0 on.
  void restart(std::uint64_t high_number);
  // Forgets what the smaller half of the layers held so far.
  void forget_smaller_half();

  std::size_t entries() const { return entries_; }
  std::size_t known_layers() const;                            // that have entries
  const std::vector<Layer>& layers() const { return layers_; } // by id

private:
  std::vector<Layer> layers_;
  std::vector<Id> changed_; // in the newest column
  std::size_t entries_ = 0;
};

// The most that the layer held in any column.
std::uint64_t most_of(const LayerSeries::Layer& layer);

} // namespace gmt
