// SPDX-License-Identifier: Apache-2.0
// The hash table's upkeep and the lazy entry into the ordered index, see live_index.h.

#include "analyzer/heap/store/live_index.h"

namespace gmt {

bool LiveIndex::insert(std::uint64_t begin, std::uint64_t end, std::uint32_t value) {
  if ((size_ + 1) * 2 > table_.size()) grow();
  Entry& entry = table_[slot_of(begin)];
  if (entry.value != kNone) return false;
  entry = {.begin = begin, .value = value};
  ++size_;
  has_unindexed_ = true;
  count_granules(begin, end, 1);
  if (!too_many_) {
    recent_.push_back(begin);
    if (recent_.size() > table_.size()) {
      recent_.clear();
      too_many_ = true;
    }
  }
  return true;
}

std::uint32_t LiveIndex::take(std::uint64_t begin, std::uint64_t end) {
  const std::size_t at = slot_of(begin);
  const Entry entry = table_[at];
  if (entry.value == kNone) return kNone;
  if (entry.indexed) ranges_.take(begin);
  close_gap(at);
  --size_;
  count_granules(begin, end, ~std::uint32_t{0});
  return entry.value;
}

bool LiveIndex::index(std::uint64_t begin, std::uint64_t end, std::uint32_t value) {
  if (!ranges_.insert(begin, end, value)) return false;
  table_[slot_of(begin)].indexed = true;
  return true;
}

// Deletion without tombstones: entries that follow move up unless they are at home or after the
// gap.
void LiveIndex::close_gap(std::size_t gap) {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = (gap + 1) & mask; table_[at].value != kNone; at = (at + 1) & mask) {
    const std::size_t home = home_of(table_[at].begin);
    if (((at - home) & mask) < ((at - gap) & mask)) continue;
    table_[gap] = table_[at];
    gap = at;
  }
  table_[gap] = {};
}

void LiveIndex::grow() {
  std::vector<Entry> old(table_.size() * 2);
  old.swap(table_);
  --shift_;
  for (const Entry& entry : old) {
    if (entry.value != kNone) table_[slot_of(entry.begin)] = entry;
  }
}

void LiveIndex::take_unindexed(std::vector<std::uint32_t>& values) {
  values.clear();
  const auto add = [&values](const Entry& entry) {
    if (entry.value != kNone && !entry.indexed) values.push_back(entry.value);
  };
  if (too_many_) {
    for (const Entry& entry : table_) add(entry);
  } else {
    for (const std::uint64_t begin : recent_)
      add(table_[slot_of(begin)]); // twice, if it was allocated there twice
  }
  recent_.clear();
  too_many_ = has_unindexed_ = false;
}

// `change` is 1 or -1 (all bits). Counters wrap only in theory: 2^32 blocks in one granule.
void LiveIndex::count_granules(std::uint64_t begin, std::uint64_t end, std::uint32_t change) {
  const std::uint64_t first = begin >> kGranuleBits, last = (end - 1) >> kGranuleBits;
  if (last - first >= kMaxGranules) {
    huge_ += change == 1 ? 1 : ~std::uint64_t{0};
    return;
  }
  for (std::uint64_t g = first; g <= last; ++g) granules_[granule_slot(g)] += change;
}

} // namespace gmt
