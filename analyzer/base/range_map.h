// SPDX-License-Identifier: Apache-2.0
// Disjoint half-open address ranges with a 32-bit value each, ordered: the heap's one index, for
// exact bases and for interior addresses alike. A two-level tree: one sorted array of the leaves'
// first addresses over leaves of up to `Capacity` ranges, so that a look-up is two short binary
// searches in a few cache lines and an insertion moves at most one leaf. Small leaves suit many
// changes, large ones suit millions of ranges.
//
// Invariants: ranges never overlap and are never empty; no leaf is empty; first_[i] is leaf i's
// first begin.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gmt {

template <unsigned Capacity> class RangeMap {
public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Range {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t value = kNone;
    explicit operator bool() const { return value != kNone; }
  };

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The range that contains the address.
  Range find(std::uint64_t address) const {
    const Position at = at_or_before(address);
    if (!at.leaf || at.leaf->end[at.slot] <= address) return {};
    return range(at);
  }

  // The first range that ends after the address: what a walk over [address, ...) begins with.
  Range first_ending_after(std::uint64_t address) const {
    Position at = at_or_before(address);
    if (at.leaf && at.leaf->end[at.slot] > address) return range(at);
    if (at.leaf) {
      if (++at.slot < at.leaf->count) return range(at);
      ++at.index;
    }
    if (at.index >= leaves_.size()) return {};
    return range({leaves_[at.index].get(), at.index, 0});
  }

  // The last range that begins at or before the address.
  Range last_beginning_by(std::uint64_t address) const {
    const Position at = at_or_before(address);
    return at.leaf ? range(at) : Range{};
  }

  // The range with exactly this begin.
  Range find_exact(std::uint64_t begin) const {
    const Position at = at_or_before(begin);
    return at.leaf && at.leaf->begin[at.slot] == begin ? range(at) : Range{};
  }

  // False, and nothing changed, if the range overlaps one that is here.
  bool insert(std::uint64_t begin, std::uint64_t end, std::uint32_t value) {
    if (begin >= end) return false;
    if (leaves_.empty()) {
      leaves_.push_back(std::make_unique<Leaf>());
      first_.push_back(begin);
    }
    Position at = at_or_before(begin);
    if (at.leaf && at.leaf->end[at.slot] > begin) return false;
    const unsigned slot = at.leaf ? at.slot + 1 : 0;
    if (!at.leaf) at = {leaves_[0].get(), 0, 0};
    if (slot < at.leaf->count) {
      if (at.leaf->begin[slot] < end) return false;
    } else if (at.index + 1 < first_.size() && first_[at.index + 1] < end) {
      return false;
    }
    put(at.index, slot, {begin, end, value});
    return true;
  }

  // Removes the range with exactly this begin; kNone if there is none.
  std::uint32_t take(std::uint64_t begin) {
    const Position at = at_or_before(begin);
    if (!at.leaf || at.leaf->begin[at.slot] != begin) return kNone;
    const std::uint32_t value = at.leaf->value[at.slot];
    remove(at);
    return value;
  }

  // Makes [begin, end) one range, whatever was there: what it covers goes, what sticks out stays.
  void overwrite(std::uint64_t begin, std::uint64_t end, std::uint32_t value) {
    if (begin >= end) return;
    for (Range old = first_ending_after(begin); old && old.begin < end;
         old = first_ending_after(begin)) {
      if (old.begin == begin && old.end == end) {
        const Position at = at_or_before(begin);
        at.leaf->value[at.slot] = value;
        return;
      }
      take(old.begin);
      if (old.begin < begin) insert(old.begin, begin, old.value);
      if (old.end > end) insert(end, old.end, old.value);
    }
    insert(begin, end, value);
  }

  template <class Visit> void for_each(Visit visit) const {
    for (const auto& leaf : leaves_) {
      for (unsigned i = 0; i < leaf->count; ++i)
        visit(Range{leaf->begin[i], leaf->end[i], leaf->value[i]});
    }
  }

  void clear() {
    leaves_.clear();
    first_.clear();
    size_ = 0;
  }

private:
  struct Leaf {
    std::uint64_t begin[Capacity];
    std::uint64_t end[Capacity];
    std::uint32_t value[Capacity];
    unsigned count = 0;
  };
  struct Position {
    Leaf* leaf = nullptr;
    std::size_t index = 0; // of the leaf
    unsigned slot = 0;
  };

  static Range range(const Position& at) {
    return {at.leaf->begin[at.slot], at.leaf->end[at.slot], at.leaf->value[at.slot]};
  }

  // How many of the sorted keys are <= key. Without branches that depend on data: addresses are
  // random. In quarters, since three loads that wait for nothing cost as much as one.
  static std::size_t count_not_above(const std::uint64_t* keys, std::size_t n, std::uint64_t key) {
    if (n == 0) return 0;
    const std::uint64_t* base = keys;
    while (n > 4) {
      const std::size_t quarter = n / 4;
      const std::size_t skip = (base[quarter] <= key ? 1U : 0U) +
                               (base[2 * quarter] <= key ? 1U : 0U) +
                               (base[3 * quarter] <= key ? 1U : 0U);
      base += skip * quarter;
      n -= 3 * quarter;
    }
    while (n > 1) {
      const std::size_t half = n / 2;
      base = base[half] <= key ? base + half : base;
      n -= half;
    }
    return static_cast<std::size_t>(base - keys) + (*base <= key ? 1 : 0);
  }

  // The last range that begins at or before the address; no leaf if there is none.
  Position at_or_before(std::uint64_t address) const {
    const std::size_t leaves = count_not_above(first_.data(), first_.size(), address);
    if (leaves == 0) return {};
    Leaf* leaf = leaves_[leaves - 1].get();
    const std::size_t slots = count_not_above(leaf->begin, leaf->count, address);
    if (slots == 0) return {};
    return {leaf, leaves - 1, static_cast<unsigned>(slots - 1)};
  }

  void put(std::size_t index, unsigned slot, const Range& r) {
    if (leaves_[index]->count == Capacity) {
      split(index, slot == Capacity);
      if (slot > leaves_[index]->count || (slot == Capacity)) {
        slot -= leaves_[index]->count;
        ++index;
      }
    }
    Leaf& leaf = *leaves_[index];
    std::copy_backward(leaf.begin + slot, leaf.begin + leaf.count, leaf.begin + leaf.count + 1);
    std::copy_backward(leaf.end + slot, leaf.end + leaf.count, leaf.end + leaf.count + 1);
    std::copy_backward(leaf.value + slot, leaf.value + leaf.count, leaf.value + leaf.count + 1);
    leaf.begin[slot] = r.begin;
    leaf.end[slot] = r.end;
    leaf.value[slot] = r.value;
    ++leaf.count;
    ++size_;
    if (slot == 0) first_[index] = r.begin;
  }

  // Half of a full leaf goes into a new one; appending at the very end keeps leaves nearly full
  // instead.
  void split(std::size_t index, bool appending) {
    auto upper = std::make_unique<Leaf>();
    Leaf& lower = *leaves_[index];
    const unsigned keep = appending && index + 1 == leaves_.size() ? Capacity - 1 : Capacity / 2;
    upper->count = Capacity - keep;
    std::copy_n(lower.begin + keep, upper->count, upper->begin);
    std::copy_n(lower.end + keep, upper->count, upper->end);
    std::copy_n(lower.value + keep, upper->count, upper->value);
    lower.count = keep;
    const auto next = static_cast<std::ptrdiff_t>(index + 1);
    first_.insert(first_.begin() + next, upper->begin[0]);
    leaves_.insert(leaves_.begin() + next, std::move(upper));
  }

  void remove(const Position& at) {
    Leaf& leaf = *at.leaf;
    std::copy(leaf.begin + at.slot + 1, leaf.begin + leaf.count, leaf.begin + at.slot);
    std::copy(leaf.end + at.slot + 1, leaf.end + leaf.count, leaf.end + at.slot);
    std::copy(leaf.value + at.slot + 1, leaf.value + leaf.count, leaf.value + at.slot);
    --leaf.count;
    --size_;
    if (leaf.count == 0) {
      erase_leaf(at.index);
    } else {
      if (at.slot == 0) first_[at.index] = leaf.begin[0];
      if (leaf.count < Capacity / 4) merge(at.index);
    }
  }

  // A thin leaf takes in its right neighbour if both fit well: memory follows what is live.
  void merge(std::size_t index) {
    if (index + 1 >= leaves_.size()) return;
    Leaf& left = *leaves_[index];
    const Leaf& right = *leaves_[index + 1];
    if (left.count + right.count > Capacity / 2) return;
    std::copy_n(right.begin, right.count, left.begin + left.count);
    std::copy_n(right.end, right.count, left.end + left.count);
    std::copy_n(right.value, right.count, left.value + left.count);
    left.count += right.count;
    erase_leaf(index + 1);
  }

  void erase_leaf(std::size_t index) {
    leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(index));
    first_.erase(first_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  std::vector<std::uint64_t> first_;
  std::vector<std::unique_ptr<Leaf>> leaves_;
  std::size_t size_ = 0;
};

} // namespace gmt
