// SPDX-License-Identifier: Apache-2.0
// Rows of clocks, joined where threads synchronise. What a thread knows of its own warp by a
// barrier of that warp is put into a row when the row leaves the warp.
#include "simulated_cuda/executor/machine/ordering.h"

#include "simulated_cuda/executor/machine/block.h"

#include <algorithm>
#include <utility>

namespace gmt::executor {
namespace {

std::uint32_t thread_of(const Warp& w, std::uint32_t lane) { return w.id * kLanes + lane; }

constexpr std::size_t kMostWords = 8; // of a thread; with as many it acquires all there are

void join(Ordering::Row& into, const Ordering::Row& from) {
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

template <class Function>
void each_lane(std::uint32_t mask, Function function) {
  for (std::uint32_t m = mask; m != 0; m &= m - 1)
    function(static_cast<std::uint32_t>(__builtin_ctz(m)));
}

// What the threads of a warp know of each other by barriers of the warp.
void add_warp(const Block& block, const Warp& warp, Ordering::Row& row) {
  if (warp.last_sync < block.last_barrier) return;
  each_lane(warp.present, [&](std::uint32_t l) {
    std::uint32_t& known = row[thread_of(warp, l)];
    known = std::max(known, warp.last_sync);
  });
}

} // namespace

void Ordering::start() {
  if (!objects_.empty()) objects_.clear();
}

void Ordering::reset() {
  for (Shared& shared : shared_) {
    std::ranges::fill(shared.row, 0u);
    shared.state = ++states_;
  }
  std::ranges::fill(fences_, 0u);
  for (auto& [object, phase] : objects_) phase = {};
  barrier_of_all();
}

void Ordering::barrier_of_all() {
  is_partial = has_fenced = false;
  if (!words_.empty()) words_.clear();
  if (has_loaded_) std::ranges::fill(loaded_, std::vector<std::uint64_t>());
  has_loaded_ = false;
}

bool Ordering::knows(const Warp& w, std::uint32_t lane, std::uint32_t thread,
                     std::uint32_t clock) const {
  const Block& block = *w.block;
  const std::uint32_t self = thread_of(w, lane);
  if (thread == self || clock < block.last_barrier) return true;
  if (thread / kLanes == w.id && clock < w.last_sync) return true;
  return is_partial && rows_[self] != kNone && clock < shared_[rows_[self]].row[thread];
}

// Null: the thread knows nothing but by barriers of its block or warp.
const Ordering::Shared* Ordering::row_of(const Warp& w, std::uint32_t lane) const {
  if (!is_partial) return nullptr;
  const std::uint32_t row = rows_[thread_of(w, lane)];
  return row == kNone ? nullptr : &shared_[row];
}

template <bool kAll>
bool Ordering::knows_warp(const Warp& w, std::uint32_t lane, std::uint32_t warp,
                          std::uint32_t clock) const {
  const std::uint32_t self = thread_of(w, lane), begin = warp * kLanes;
  const std::uint32_t end = std::min(begin + kLanes, w.block->threads);
  const bool is_known = clock < w.block->last_barrier || (warp == w.id && clock < w.last_sync);
  const Shared* shared = row_of(w, lane);
  for (std::uint32_t i = begin; i < end; ++i) {
    if (i == self) continue;
    const bool knows = is_known || (shared != nullptr && clock < shared->row[i]);
    if (knows != kAll) return knows;
  }
  return kAll;
}
template bool Ordering::knows_warp<false>(const Warp&, std::uint32_t, std::uint32_t,
                                          std::uint32_t) const;
template bool Ordering::knows_warp<true>(const Warp&, std::uint32_t, std::uint32_t,
                                         std::uint32_t) const;

// A row's least clock answers for most words that many threads loaded.
template <bool kAll>
bool Ordering::knows_others(const Warp& w, std::uint32_t lane, std::uint32_t clock) const {
  const std::uint32_t begin = w.id * kLanes, threads = w.block->threads;
  const std::uint32_t end = std::min(begin + kLanes, threads);
  if (begin == 0 && end == threads) return kAll; // there are none
  if (clock < w.block->last_barrier) return true;
  const Shared* shared = row_of(w, lane);
  if (shared == nullptr) return false;
  if (shared->least_state != shared->state) {
    shared->least = *std::ranges::min_element(shared->row);
    shared->least_state = shared->state;
  }
  if (clock < shared->least) return true;
  const auto differs = [&](std::uint32_t known) { return (clock < known) != kAll; };
  const auto row = shared->row.begin();
  return (std::any_of(row, row + begin, differs) ||
          std::any_of(row + end, shared->row.end(), differs)) != kAll;
}
template bool Ordering::knows_others<false>(const Warp&, std::uint32_t, std::uint32_t) const;
template bool Ordering::knows_others<true>(const Warp&, std::uint32_t, std::uint32_t) const;

// A copy of a row, or an empty one.
std::uint32_t Ordering::new_row(const Block& block, std::uint32_t like) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(shared_.size()));
    shared_.emplace_back();
  }
  const std::uint32_t row = free_.back();
  free_.pop_back();
  if (like != kNone) shared_[row].row = shared_[like].row;
  else shared_[row].row.assign(block.threads, 0);
  return row;
}

void Ordering::give(const Lanes& lanes, std::uint32_t row) {
  each_lane(lanes.mask, [&](std::uint32_t l) {
    std::uint32_t& mine = rows_[thread_of(*lanes.warp, l)];
    if (mine == row) return;
    if (mine != kNone && --shared_[mine].threads == 0) free_.push_back(mine);
    mine = row;
    ++shared_[row].threads;
  });
}

std::uint32_t Ordering::lanes_with(const Lanes& lanes, std::uint32_t row) const {
  std::uint32_t same = 0;
  each_lane(lanes.mask, [&](std::uint32_t l) {
    same |= rows_[thread_of(*lanes.warp, l)] == row ? 1u << l : 0;
  });
  return same;
}

// The row gets what a thread knows, and what it did itself before `clock`.
void Ordering::add(const Block& block, const Warp& warp, std::uint32_t lane, std::uint32_t clock,
                   Released& released) {
  const std::uint32_t thread = thread_of(warp, lane);
  Row& row = released.row;
  if (row.empty()) row.resize(block.threads);
  if (is_partial && rows_[thread] != kNone && shared_[rows_[thread]].state != released.joined) {
    const Shared& known = shared_[rows_[thread]];
    join(row, known.row);
    released.joined = known.state;
  }
  add_warp(block, warp, row);
  row[thread] = std::max(row[thread], clock);
}

// A row that the lanes have alone, and which holds what each of them knows.
std::uint32_t Ordering::common_row(const Block& block, std::span<const Lanes> all) {
  std::vector<std::uint32_t> rows;
  std::uint32_t count = 0; // of lanes that have one
  bool have_all = true;
  for (const Lanes& each : all) {
    each_lane(each.mask, [&](std::uint32_t l) {
      const std::uint32_t row = rows_[thread_of(*each.warp, l)];
      if (row == kNone) {
        have_all = false;
        return;
      }
      ++count;
      if (!rows.empty() && rows.back() == row) return;
      if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
    });
  }
  if (have_all && rows.size() == 1 && shared_[rows[0]].threads == count) return rows[0];
  const std::uint32_t common = new_row(block, is_partial && !rows.empty() ? rows[0] : kNone);
  for (std::size_t i = 1; i < rows.size() && is_partial; ++i)
    join(shared_[common].row, shared_[rows[i]].row);
  for (const Lanes& each : all) give(each, common);
  return common;
}

void Ordering::meet(Block& block, std::span<const Lanes> all, const Row& arrived) {
  block.advance_clock();
  if (rows_.empty()) rows_.resize(block.threads, kNone);
  Shared& met = shared_[common_row(block, all)];
  if (!arrived.empty()) join(met.row, arrived);
  for (const Lanes& each : all) {
    add_warp(block, *each.warp, met.row);
    each_lane(each.mask, [&](std::uint32_t l) { met.row[thread_of(*each.warp, l)] = block.clock; });
  }
  met.state = ++states_;
  is_partial = true;
}

void Ordering::release(Block& block, const Lanes& lanes, Released& released) {
  block.advance_clock();
  each_lane(lanes.mask,
            [&](std::uint32_t l) { add(block, *lanes.warp, l, block.clock, released); });
}

void Ordering::acquire(Block& block, const Lanes& lanes, const Row& row) {
  if (row.empty()) return;
  if (rows_.empty()) rows_.resize(block.threads, kNone);
  for (std::uint32_t left = lanes.mask; left != 0;) {
    const auto first = static_cast<std::uint32_t>(__builtin_ctz(left));
    const Lanes same{lanes.warp,
                     lanes_with({lanes.warp, left}, rows_[thread_of(*lanes.warp, first)])};
    Shared& known = shared_[common_row(block, std::span(&same, 1))];
    join(known.row, row);
    known.state = ++states_;
    left &= ~same.mask;
  }
  is_partial = true;
}

void Ordering::fence(Block& block, const Lanes& lanes, bool acquires, bool releases) {
  if (releases) {
    block.advance_clock();
    has_fenced = true;
    if (fences_.empty()) fences_.resize(block.threads);
    each_lane(lanes.mask,
              [&](std::uint32_t l) { fences_[thread_of(*lanes.warp, l)] = block.clock; });
  }
  if (acquires && has_loaded_) acquire_loaded(block, lanes);
}

// Lanes that loaded the same words go together. What was released since is acquired as well.
void Ordering::acquire_loaded(Block& block, const Lanes& lanes) {
  for (std::uint32_t left = lanes.mask; left != 0;) {
    const auto first = static_cast<std::uint32_t>(__builtin_ctz(left));
    const std::vector<std::uint64_t> words =
      std::exchange(loaded_[thread_of(*lanes.warp, first)], {});
    std::uint32_t same = 1u << first;
    each_lane(left & ~same, [&](std::uint32_t l) {
      auto& others = loaded_[thread_of(*lanes.warp, l)];
      if (others != words) return;
      others.clear();
      same |= 1u << l;
    });
    left &= ~same;
    if (words.size() == kMostWords) {
      for (const auto& [word, released] : words_) acquire(block, {lanes.warp, same}, released.row);
      continue;
    }
    for (const std::uint64_t word : words) acquire(block, {lanes.warp, same}, words_[word].row);
  }
}

bool Ordering::has_fence(const Block& block, std::uint32_t thread) const {
  return has_fenced && fences_[thread] >= block.last_barrier;
}

// What was released to the word before stays: PTX ends it where the store is no atomic.
void Ordering::strong_store(const Block& block, const Lanes& lanes, std::uint64_t word) {
  if (!has_fenced) return;
  Released* released = nullptr;
  each_lane(lanes.mask, [&](std::uint32_t l) {
    const std::uint32_t thread = thread_of(*lanes.warp, l);
    if (!has_fence(block, thread)) return;
    if (released == nullptr) released = &words_[word];
    add(block, *lanes.warp, l, fences_[thread], *released);
  });
}

void Ordering::strong_load(const Block& block, const Lanes& lanes, std::uint64_t word) {
  if (!has_fenced || !words_.contains(word)) return;
  if (loaded_.empty()) loaded_.resize(block.threads);
  has_loaded_ = true;
  each_lane(lanes.mask, [&](std::uint32_t l) {
    auto& words = loaded_[thread_of(*lanes.warp, l)];
    if (words.size() < kMostWords && std::ranges::find(words, word) == words.end())
      words.push_back(word);
  });
}

void Ordering::arrive(Block& block, const Lanes& lanes, std::uint64_t object) {
  release(block, lanes, objects_[object].arriving);
}

void Ordering::complete(std::uint64_t object) {
  Phase& phase = objects_[object];
  if (phase.complete.empty()) phase.complete.resize(phase.arriving.row.size());
  join(phase.complete, phase.arriving.row);
}

void Ordering::wait(Block& block, const Lanes& lanes, std::uint64_t object) {
  const auto found = objects_.find(object);
  if (found != objects_.end()) acquire(block, lanes, found->second.complete);
}

} // namespace gmt::executor
