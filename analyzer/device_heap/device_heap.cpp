// SPDX-License-Identifier: Apache-2.0
// The model of one context's device heap, see device_heap.h. Blocks are known by the pointers that
// kernels were given; the allocator's own headers and padding are not seen.

#include "analyzer/device_heap/device_heap.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyzer/base/memory_limit.h"
#include "analyzer/model/trace_names.h"
#include "analyzer/symbols/demangle.h"
#include "trace/vocabulary_words.h"

namespace gmt {
namespace {

using trace::DeviceOp;
using What = DeviceMistake::What;

// How long a record may take from its time stamp to the ring. Kernels publish within microseconds;
// one whose context is switched off the device in between takes a time slice longer.
constexpr std::uint64_t kPublished = 5'000'000;
constexpr std::size_t kWorthReleasing = 1 << 16;
constexpr std::uint64_t kMostLogMemory = std::uint64_t{200} << 20; // of a log
constexpr std::uint64_t kMostSites = 8192;                         // twice what a ring has
constexpr std::uint64_t kFar = std::uint64_t{1} << 40;

bool is_free_op(DeviceOp op) {
  return op == DeviceOp::kFree || op == DeviceOp::kDelete || op == DeviceOp::kDeleteArray;
}

} // namespace

std::string_view device_call(DeviceOp op) {
  const std::string_view word = trace::word_of(op);
  return word.empty() ? "?" : word;
}

DeviceOp device_release(DeviceOp allocation) {
  switch (allocation) {
  case DeviceOp::kNew: return DeviceOp::kDelete;
  case DeviceOp::kNewArray: return DeviceOp::kDeleteArray;
  default: return DeviceOp::kFree;
  }
}

void DeviceHeap::read(DeviceLogReader& log, const TraceClock& clock) {
  const MemoryLimit limit(kMostLogMemory);
  while (const DeviceRecord* record = log.next()) {
    if (limit.is_reached()) {
      log.give_up("it has more records than fit into a report's memory");
      break;
    }
    switch (record->kind) {
    case DeviceRecord::Kind::kSite: on_site(*record); break;
    case DeviceRecord::Kind::kGrid: on_grid(*record); break;
    case DeviceRecord::Kind::kDrained: on_drained(*record, clock); break;
    default: hold(*record);
    }
  }
  release(UINT64_MAX);
  finish_grids();
}

void DeviceHeap::finish_grids() {
  // Grids whose table entry was displaced are noted again.
  std::stable_sort(grids_.begin(), grids_.end(),
                   [](const DeviceGrid& a, const DeviceGrid& b) { return a.id < b.id; });
  const auto again =
    std::unique(grids_.begin(), grids_.end(),
                [](const DeviceGrid& a, const DeviceGrid& b) { return a.id == b.id; });
  grids_.erase(again, grids_.end());
  for (DeviceGrid& grid : grids_) {
    if (const auto at = site_of_grid_.find(grid.id); at != site_of_grid_.end())
      grid.site = at->second;
  }
  site_of_grid_.clear();
}

const DeviceSite& DeviceHeap::site(std::uint32_t number) const {
  static const DeviceSite kUnknown;
  const auto found = sites_.find(number);
  return found == sites_.end() ? kUnknown : found->second;
}

void DeviceHeap::on_site(const DeviceRecord& record) {
  if (record.id == 0 || record.id >= kMostSites) return;
  DeviceSite site = record.site;
  site.function = demangle(site.function); // the simulated device knows names as linked
  sites_[static_cast<std::uint32_t>(record.id)] = std::move(site);
}

void DeviceHeap::on_grid(const DeviceRecord& record) {
  if (grids_.size() >= kMaxGrids) return;
  grids_.push_back({.id = record.id,
                    .extents = record.extents,
                    .block_extents = record.block,
                    .time = record.time});
}

// Records of grids have no site in the source; those of what the grid did have.
void DeviceHeap::note_site(const DeviceRecord& record) {
  const std::uint32_t site = record.thread.site();
  const std::uint64_t grid = record.id;
  if (site == 0 || grid == noted_grid_ || site_of_grid_.size() >= kMaxGrids) return;
  site_of_grid_.try_emplace(grid, site);
  noted_grid_ = grid;
}

// All that was published before the drain's last round but one is here now.
void DeviceHeap::on_drained(const DeviceRecord& record, const TraceClock& clock) {
  if (record.context != 0) context_ = record.context;
  compare_clocks(clock.realtime_of(record.time));
  if (record.lost != 0 && lost_ == 0) lost_after_ = newest_before_;
  lost_ = std::max(lost_, record.lost);
  torn_ += record.torn;
  if (pending_.size() > enough_) release(newest_before_ - std::min(newest_before_, kPublished));
  newest_before_ = newest_;
}

void DeviceHeap::hold(const DeviceRecord& record) {
  ++records_;
  const bool is_free = record.kind == DeviceRecord::Kind::kFree;
  const DeviceOp op = record.op;
  if (is_free_op(op) != is_free) return; // damaged, or a call that this version does not know
  note_site(record);
  const bool refused = !is_free && (record.is_out_of_memory || record.pointer == 0);
  if (record.pointer == 0 && (is_free || record.bytes == 0))
    return; // free(NULL) does nothing, malloc(0) gives none
  newest_ = std::max(newest_, record.time);
  pending_.push_back({.time = record.time,
                      .ticket = record.ticket,
                      .thread = record.thread,
                      .pointer = record.pointer,
                      .bytes = is_free ? 0 : record.bytes,
                      .grid = record.id,
                      .alignment = op == DeviceOp::kAlignedMalloc ? record.alignment : 1,
                      .block = record.block,
                      .op = op,
                      .space = is_free ? record.space : trace::DeviceSpace::kUnknown,
                      .is_free = is_free,
                      .refused = refused});
}

void DeviceHeap::release(std::uint64_t until) {
  std::ranges::sort(pending_, [](const Pending& a, const Pending& b) {
    return std::tie(a.time, a.ticket) < std::tie(b.time, b.ticket);
  });
  std::size_t done = 0;
  while (done < pending_.size() && pending_[done].time <= until) {
    std::size_t end = done + 1;
    while (end < pending_.size() && pending_[end].time == pending_[done].time) ++end;
    apply_tie(done, end);
    done = end;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
  enough_ = std::max(kWorthReleasing, 2 * pending_.size());
}

// Records of one time: the frees that have a live block, then the allocations, then the other
// frees.
void DeviceHeap::apply_tie(std::size_t begin, std::size_t end) {
  if (end - begin == 1) {
    const Pending& r = pending_[begin];
    return r.is_free ? on_free(r) : on_alloc(r);
  }
  deferred_.clear();
  for (std::size_t i = begin; i < end; ++i) {
    const Pending& r = pending_[i];
    if (!r.is_free) continue;
    if (live_.find_exact(r.pointer)) on_free(r);
    else deferred_.push_back(r);
  }
  for (std::size_t i = begin; i < end; ++i) {
    if (!pending_[i].is_free) on_alloc(pending_[i]);
  }
  for (const Pending& r : deferred_) on_free(r);
}

void DeviceHeap::on_alloc(const Pending& r) {
  if (r.alignment == 0 || (r.alignment & (r.alignment - 1)) != 0) {
    add({.what = What::kAlignment,
         .at = r.call(),
         .address = r.pointer,
         .offset = r.alignment,
         .count = 1,
         .bytes = r.bytes});
    if (r.refused) return; // that is why
  }
  r.refused ? refuse(r) : on_allocated(r);
}

void DeviceHeap::on_allocated(const Pending& r) {
  DeviceBlock block{.address = r.pointer, .bytes = r.bytes, .allocated = r.call()};
  const std::uint64_t end = end_of(block);
  for (auto old = live_.first_ending_after(r.pointer); old && old.begin < end;
       old = live_.first_ending_after(r.pointer)) {
    if (!is_lossy(r)) ++unseen_frees_;
    live_bytes_ -= blocks_[old.value].bytes;
    free_ids_.push_back(live_.take(old.begin));
  }
  freed_by_base_.erase(r.pointer);
  if (free_ids_.empty()) {
    free_ids_.push_back(static_cast<std::uint32_t>(blocks_.size()));
    blocks_.emplace_back();
  }
  const std::uint32_t id = free_ids_.back();
  if (!live_.insert(r.pointer, end, id))
    return; // a block of no bytes at the very end of the addresses
  free_ids_.pop_back();
  blocks_[id] = block;
  lowest_ = std::min(lowest_, r.pointer);
  highest_ = std::max(highest_, end);
  live_bytes_ += r.bytes;
  wanted_bytes_ = std::max(wanted_bytes_, live_bytes_);
  if (live_bytes_ > peak_bytes_) {
    peak_bytes_ = live_bytes_;
    peak_ = block.allocated;
  }
  settle(r);
}

void DeviceHeap::on_free(const Pending& r) {
  const auto range = live_.find_exact(r.pointer);
  if (!range) return on_unknown_free(r);
  const DeviceBlock& block = blocks_[range.value];
  const bool fits = r.op == device_release(block.allocated.op);
  const bool is_foreign = block.allocated.grid != r.grid || block.allocated.block != r.block;
  // Lost records may have freed this block and allocated another at its address.
  const bool is_same = !is_lossy(r);
  if (!is_same && (!fits || is_foreign)) ++unchecked_;
  if (is_same && !fits) {
    add({.what = What::kMismatched,
         .at = r.call(),
         .address = r.pointer,
         .block = block,
         .count = 1,
         .bytes = block.bytes});
  }
  on_freed(range.value, r);
  if (is_same && is_foreign) note_foreign(blocks_[range.value]);
}

void DeviceHeap::on_freed(std::uint32_t id, const Pending& r) {
  DeviceBlock& block = blocks_[id];
  live_.take(block.address);
  free_ids_.push_back(id);
  live_bytes_ -= block.bytes;
  settling_.clear(); // what is allocated from now on may have got the memory of this one
  block.freed = r.call();
  block.is_freed = true;
  remember_freed(block);
}

void DeviceHeap::remember_freed(const DeviceBlock& block) {
  if (freed_.size() < kMaxFreed) {
    freed_.push_back(block);
    freed_by_base_[block.address] = static_cast<std::uint32_t>(freed_.size() - 1);
    return;
  }
  const auto oldest = freed_by_base_.find(freed_[next_freed_].address);
  if (oldest != freed_by_base_.end() && oldest->second == next_freed_) freed_by_base_.erase(oldest);
  freed_[next_freed_] = block;
  freed_by_base_[block.address] = static_cast<std::uint32_t>(next_freed_);
  next_freed_ = (next_freed_ + 1) % kMaxFreed;
}

void DeviceHeap::on_unknown_free(const Pending& r) {
  DeviceMistake mistake{.at = r.call(), .address = r.pointer, .count = 1};
  if (r.space != trace::DeviceSpace::kUnknown) {
    mistake.what = r.space == trace::DeviceSpace::kShared ? What::kShared : What::kLocal;
  } else if (is_lossy(r) && !is_far(r.pointer)) {
    mistake.what = What::kNeverAllocated;
    return add_undecided(mistake); // the allocation may be among the records that were lost
  } else if (const auto inside = live_.find(r.pointer)) {
    mistake.what = What::kInside;
    mistake.block = blocks_[inside.value];
    mistake.offset = r.pointer - mistake.block.address;
  } else if (const DeviceBlock* freed = find_freed(r.pointer)) {
    mistake.what = What::kDoubleFree;
    mistake.block = *freed;
  } else {
    mistake.what = What::kNeverAllocated;
  }
  mistake.bytes = mistake.block.bytes;
  add(mistake);
}

// Farther from a block of this heap than any device's memory reaches.
bool DeviceHeap::is_far(std::uint64_t address) const {
  if (lowest_ >= highest_) return false; // no block is known
  return address < lowest_ - std::min(lowest_, kFar) ||
         address > highest_ + std::min(UINT64_MAX - highest_, kFar);
}

const DeviceBlock* DeviceHeap::find_freed(std::uint64_t base) const {
  const auto found = freed_by_base_.find(base);
  return found == freed_by_base_.end() ? nullptr : &freed_[found->second];
}

void DeviceHeap::for_each_live(const std::function<void(const DeviceBlock&)>& visit) const {
  live_.for_each([&](const RangeMap<64>::Range& range) { visit(blocks_[range.value]); });
}

} // namespace gmt
