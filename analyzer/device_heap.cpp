// SPDX-License-Identifier: Apache-2.0
// The model of one context's device heap, see device_heap.h. Blocks are known by the pointers that kernels
// were given; the allocator's own headers and padding are not seen.

#include "analyzer/device_heap.h"

#include <algorithm>
#include <tuple>

namespace gmt {
namespace {

using trace::DeviceOp;
using trace::Kind;
using What = DeviceMistake::What;

// How long a record may take from its time stamp to the ring. Kernels publish within microseconds; one whose
// context is switched off the device in between takes a time slice longer.
constexpr std::uint64_t kPublished = 5'000'000;
// How long a malloc may take from the moment it has its memory to its time stamp, while others wait too: 27 us
// were seen on an H200 with 32 callers.
constexpr std::uint64_t kInProgress = 100'000;
constexpr std::size_t kWorthReleasing = 1 << 16;

bool is_free_op(DeviceOp op) {
  return op == DeviceOp::kFree || op == DeviceOp::kDelete || op == DeviceOp::kDeleteArray;
}

std::uint64_t end_of(const DeviceBlock& block) {
  const std::uint64_t bytes = std::max<std::uint64_t>(block.bytes, 1);
  return block.address > UINT64_MAX - bytes ? UINT64_MAX : block.address + bytes;
}

} // namespace

std::string_view device_call(DeviceOp op) {
  switch (op) {
  case DeviceOp::kMalloc: return "malloc";
  case DeviceOp::kFree: return "free";
  case DeviceOp::kAlignedMalloc: return "__nv_aligned_device_malloc";
  case DeviceOp::kNew: return "new";
  case DeviceOp::kNewArray: return "new[]";
  case DeviceOp::kDelete: return "delete";
  case DeviceOp::kDeleteArray: return "delete[]";
  }
  return "?";
}

DeviceOp device_release(DeviceOp allocation) {
  switch (allocation) {
  case DeviceOp::kNew: return DeviceOp::kDelete;
  case DeviceOp::kNewArray: return DeviceOp::kDeleteArray;
  default: return DeviceOp::kFree;
  }
}

void DeviceHeap::read(DeviceLogReader& log) {
  while (const DeviceRecord* record = log.next()) {
    switch (record->head.kind) {
    case Kind::kDeviceSite:
      if (record->p(0) != 0 && record->p(0) < trace::kMaxDeviceSites * 2) {
        sites_[static_cast<std::uint32_t>(record->p(0))] = gmt::site_of(*record);
      }
      break;
    case Kind::kDeviceGrid: on_grid(*record); break;
    case Kind::kDeviceDrained: on_drained(*record); break;
    default: hold(*record);
    }
  }
  release(UINT64_MAX);
  // Grids whose table entry was displaced are told of again.
  std::stable_sort(grids_.begin(), grids_.end(),
                   [](const DeviceGrid& a, const DeviceGrid& b) { return a.id < b.id; });
  const auto again = std::unique(grids_.begin(), grids_.end(),
                                 [](const DeviceGrid& a, const DeviceGrid& b) { return a.id == b.id; });
  grids_.erase(again, grids_.end());
}

const DeviceSite& DeviceHeap::site(std::uint64_t who) const {
  static const DeviceSite kUnknown;
  const auto found = sites_.find(trace::site_of(who));
  return found == sites_.end() ? kUnknown : found->second;
}

void DeviceHeap::on_grid(const DeviceRecord& record) {
  if (grids_.size() >= kMaxGrids) return;
  grids_.push_back({.id = record.p(0),
                    .extents = record.p(1),
                    .block_extents = record.p(2),
                    .time = record.slot.time,
                    .site = trace::site_of(record.slot.who)});
}

// All that was published before the drain's last round but one is here now.
void DeviceHeap::on_drained(const DeviceRecord& record) {
  if (const std::uint16_t context = record.host_slot().context; context != 0) context_ = context;
  if (record.p(1) != 0 && lost_ == 0) lost_after_ = newest_before_;
  lost_ = std::max(lost_, record.p(1));
  torn_ += record.p(2);
  if (pending_.size() > enough_) release(newest_before_ - std::min(newest_before_, kPublished));
  newest_before_ = newest_;
}

void DeviceHeap::hold(const DeviceRecord& record) {
  ++records_;
  const bool is_free = record.head.kind == Kind::kDeviceFree;
  const DeviceOp op = record.op();
  if (is_free_op(op) != is_free) return; // damaged, or a call that this version does not know
  const bool refused = !is_free && (record.head.result == trace::kDeviceOutOfMemory || record.p(0) == 0);
  if (record.p(0) == 0 && (is_free || record.p(1) == 0)) return; // free(NULL) does nothing, malloc(0) gives none
  newest_ = std::max(newest_, record.slot.time);
  pending_.push_back({.time = record.slot.time,
                      .ticket = record.slot.ticket,
                      .who = record.slot.who,
                      .pointer = record.p(0),
                      .bytes = is_free ? 0 : record.p(1),
                      .grid = record.p(2),
                      .block = record.p(3),
                      .alignment = op == DeviceOp::kAlignedMalloc ? record.p(4) : 1,
                      .op = op,
                      .space = is_free ? record.space() : trace::DeviceSpace::kUnknown,
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

// Records of one time: the frees that have a live block, then the allocations, then the other frees.
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

namespace {
template <class Record> DevicePlace place_of(const Record& r) {
  return {.time = r.time, .grid = r.grid, .block = r.block, .who = r.who, .op = r.op};
}
} // namespace

void DeviceHeap::on_alloc(const Pending& r) {
  if (r.alignment == 0 || (r.alignment & (r.alignment - 1)) != 0) {
    add({.what = What::kAlignment,
         .at = place_of(r),
         .address = r.pointer,
         .offset = r.alignment,
         .count = 1,
         .bytes = r.bytes});
    if (r.refused) return; // that is why
  }
  r.refused ? refuse(r) : bear(r);
}

void DeviceHeap::bear(const Pending& r) {
  DeviceBlock block{.address = r.pointer, .bytes = r.bytes, .allocated = place_of(r)};
  const std::uint64_t end = end_of(block);
  for (auto old = live_.first_ending_after(r.pointer); old && old.begin < end;
       old = live_.first_ending_after(r.pointer)) {
    ++unseen_frees_;
    live_bytes_ -= blocks_[old.value].bytes;
    free_ids_.push_back(live_.take(old.begin));
  }
  freed_by_base_.erase(r.pointer);
  if (free_ids_.empty()) {
    free_ids_.push_back(static_cast<std::uint32_t>(blocks_.size()));
    blocks_.emplace_back();
  }
  const std::uint32_t id = free_ids_.back();
  if (!live_.insert(r.pointer, end, id)) return; // a block of no bytes at the very end of the addresses
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

// A block that a malloc in progress had got before another was refused is born after that, because its time is taken when
// its malloc ends: it was alive then.
void DeviceHeap::settle(const Pending& r) {
  std::erase_if(settling_, [&](std::size_t i) {
    const DevicePlace& first = refusals_[i].first;
    return r.grid != first.grid || r.time > first.time + kInProgress;
  });
  for (const std::size_t i : settling_) {
    refusals_[i].live_bytes = live_bytes_;
    refusals_[i].live_blocks = live_.size();
  }
  if (!settling_.empty()) wanted_bytes_ = std::max(wanted_bytes_, live_bytes_ + refused_bytes_);
}

void DeviceHeap::refuse(const Pending& r) {
  const auto [at, is_new] = refusal_groups_.try_emplace(trace::site_of(r.who), refusals_.size());
  if (is_new) {
    settling_.push_back(refusals_.size());
    refusals_.push_back(
      {.first = place_of(r), .asked = r.bytes, .live_bytes = live_bytes_, .live_blocks = live_.size()});
  }
  DeviceRefusal& refusal = refusals_[at->second];
  ++refusal.count;
  refusal.bytes += r.bytes;
  if (r.grid != refused_grid_) refused_bytes_ = 0;
  refused_grid_ = r.grid;
  refused_bytes_ += r.bytes;
  wanted_bytes_ = std::max(wanted_bytes_, live_bytes_ + refused_bytes_);
}

void DeviceHeap::on_free(const Pending& r) {
  const auto range = live_.find_exact(r.pointer);
  if (!range) return on_unknown_free(r);
  const DeviceBlock& block = blocks_[range.value];
  if (r.op != device_release(block.allocated.op)) {
    add({.what = What::kMismatched,
         .at = place_of(r),
         .address = r.pointer,
         .block = block,
         .count = 1,
         .bytes = block.bytes});
  }
  bury(range.value, r);
}

void DeviceHeap::bury(std::uint32_t id, const Pending& r) {
  DeviceBlock& block = blocks_[id];
  live_.take(block.address);
  free_ids_.push_back(id);
  live_bytes_ -= block.bytes;
  settling_.clear(); // what is born from now on may have got the memory of this one
  block.freed = place_of(r);
  block.is_freed = true;
  if (block.allocated.grid != r.grid || block.allocated.block != r.block) note_foreign(block);
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
  DeviceMistake mistake{.at = place_of(r), .address = r.pointer, .count = 1};
  if (r.space != trace::DeviceSpace::kUnknown) {
    mistake.what = r.space == trace::DeviceSpace::kShared ? What::kShared : What::kLocal;
  } else if (const auto inside = live_.find(r.pointer)) {
    mistake.what = What::kInside;
    mistake.block = blocks_[inside.value];
    mistake.offset = r.pointer - mistake.block.address;
  } else if (r.time > lost_after_) {
    ++unjudged_; // the allocation may be among the records that were lost
    return;
  } else if (const DeviceBlock* freed = find_freed(r.pointer)) {
    mistake.what = What::kDoubleFree;
    mistake.block = *freed;
  } else {
    mistake.what = What::kNeverAllocated;
  }
  mistake.bytes = mistake.block.bytes;
  add(mistake);
}

void DeviceHeap::note_foreign(const DeviceBlock& block) {
  const Group group{trace::site_of(block.allocated.who), trace::site_of(block.freed.who),
                    block.allocated.grid != block.freed.grid, block.allocated.block != block.freed.block};
  const auto [at, is_new] = foreign_groups_.try_emplace(group, foreign_.size());
  if (is_new && foreign_.size() >= kMaxGroups) {
    foreign_groups_.erase(at);
    return;
  }
  if (is_new) foreign_.push_back({.example = block});
  ++foreign_[at->second].count;
  foreign_[at->second].bytes += block.bytes;
}

void DeviceHeap::add(DeviceMistake mistake) {
  // Pointers that were never allocated may belong to the host: each is a case of its own.
  const bool by_address = mistake.what == What::kNeverAllocated;
  const Group group{static_cast<std::uint64_t>(mistake.what) << 32 | trace::site_of(mistake.at.who),
                    by_address ? mistake.address : trace::site_of(mistake.block.allocated.who),
                    mistake.block.is_freed ? trace::site_of(mistake.block.freed.who) : 0,
                    static_cast<std::uint64_t>(mistake.at.op) << 8 |
                      static_cast<std::uint64_t>(mistake.block.allocated.op)};
  const auto [at, is_new] = mistake_groups_.try_emplace(group, mistakes_.size());
  if (is_new && mistakes_.size() >= kMaxGroups) {
    mistake_groups_.erase(at);
    return;
  }
  if (is_new) {
    mistakes_.push_back(mistake);
    return;
  }
  mistakes_[at->second].count += mistake.count;
  mistakes_[at->second].bytes += mistake.bytes;
}

const DeviceBlock* DeviceHeap::find_freed(std::uint64_t base) const {
  const auto found = freed_by_base_.find(base);
  return found == freed_by_base_.end() ? nullptr : &freed_[found->second];
}

const DeviceBlock* DeviceHeap::find(std::uint64_t address) const {
  if (const auto range = live_.find(address)) return &blocks_[range.value];
  if (const DeviceBlock* freed = find_freed(address)) return freed;
  for (std::size_t i = 0; i < freed_.size(); ++i) { // the newest first
    const DeviceBlock& block = freed_[(next_freed_ + freed_.size() - 1 - i) % freed_.size()];
    if (address >= block.address && address < end_of(block)) return &block;
  }
  return nullptr;
}

void DeviceHeap::for_each_live(const std::function<void(const DeviceBlock&)>& visit) const {
  live_.for_each([&](const RangeMap<64>::Range& range) { visit(blocks_[range.value]); });
}

} // namespace gmt
