// SPDX-License-Identifier: Apache-2.0
// Blocks from birth to oblivion. See block_store.h for the two ideas: blocks of one cache line reused in the order
// of their deaths, and an index of freed memory that is only brought up to date when somebody asks.

#include "analyzer/block_store.h"

#include <algorithm>

namespace gmt {
namespace {

// A handle is a point; a block of unknown size is known at its base only.
std::uint64_t end_of(const Block& block) {
  const std::uint64_t bytes = has_ranges(space_of(block.family)) && block.bytes != 0 ? block.bytes : 1;
  return block.address > UINT64_MAX - bytes ? UINT64_MAX : block.address + bytes;
}

} // namespace

Space space_of(trace::Family family) {
  using enum trace::Family;
  switch (family) {
  case kRegistered: return Space::kRegistered;
  case kVmmReservation: return Space::kReservation;
  case kArray: return Space::kArray;
  case kMipmappedArray: return Space::kMipmappedArray;
  case kVmmHandle:
  case kMulticast: return Space::kHandle;
  default: return Space::kAddress;
  }
}

Space space_of(trace::FreeFunction function) {
  using enum trace::FreeFunction;
  switch (function) {
  case kHostUnregister: return Space::kRegistered;
  case kArrayDestroy: return Space::kArray;
  case kMipmappedArrayDestroy: return Space::kMipmappedArray;
  case kMemRelease: return Space::kHandle;
  case kAddressFree: return Space::kReservation;
  default: return Space::kAddress;
  }
}

BlockStore::Id BlockStore::create(const Block& block) {
  Id id;
  if (!free_ids_.empty()) {
    id = free_ids_.back();
    free_ids_.pop_back();
  } else {
    id = created_++;
    if (id / kChunk == chunks_.size()) chunks_.push_back(std::make_unique<Block[]>(kChunk));
  }
  (*this)[id] = block;
  return id;
}

void BlockStore::discard(Id id) { recycle(id); }

void BlockStore::recycle(Id id) {
  Block& block = (*this)[id];
  if (block.detail != nullptr) {
    free_details_.push_back(const_cast<BlockDetail*>(block.detail)); // ours: see detail_of()
    block.detail = nullptr;
  }
  free_ids_.push_back(id);
}

BlockDetail& BlockStore::detail_of(Block& block) {
  if (block.detail == nullptr) {
    if (free_details_.empty()) {
      details_.emplace_back();
      free_details_.push_back(&details_.back());
    }
    BlockDetail* detail = free_details_.back();
    free_details_.pop_back();
    *detail = {};
    block.detail = detail;
  }
  return const_cast<BlockDetail&>(*block.detail);
}

bool BlockStore::insert_live(Id id) {
  const Block& block = (*this)[id];
  return live_[static_cast<unsigned>(space_of(block.family))].insert(block.address, end_of(block), id);
}

BlockStore::Id BlockStore::first_overlap(Id id) const {
  const Block& block = (*this)[id];
  const auto range = live(space_of(block.family)).first_ending_after(block.address);
  return range && range.begin < end_of(block) ? range.value : kNone;
}

void BlockStore::retire(Id id, Block::End how, const Event& by) {
  Block& block = (*this)[id];
  block.end = how;
  block.freed = by.stack;
  block.freed_api = by.via != trace::kNoApi ? by.via : by.api;
  block.died = by.order;
  if (how == Block::End::kContextEnded) {
    index_pending(); // what died before it comes first
    index_freed(id);
    ended_.push_back(id);
    return;
  }
  const std::size_t at = static_cast<std::size_t>(freed_count_ % Heap::kMaxFreed);
  if (at == ring_.size()) {
    ring_.push_back(id);
  } else {
    recycle(ring_[at]);
    ring_[at] = id;
  }
  ++freed_count_;
}

void BlockStore::index_freed(Id id) const {
  const Block& block = (*this)[id];
  const auto space = static_cast<unsigned>(space_of(block.family));
  freed_[space].overwrite(block.address, end_of(block), id);
  if (freed_[space].size() > std::max(sweep_at_[space], 2 * Heap::kMaxFreed)) {
    sweep(freed_[space]);
    sweep_at_[space] = 2 * freed_[space].size();
  }
}

void BlockStore::index_pending() const {
  if (freed_count_ - indexed_ > Heap::kMaxFreed) indexed_ = freed_count_ - Heap::kMaxFreed;
  for (; indexed_ != freed_count_; ++indexed_) {
    index_freed(ring_[static_cast<std::size_t>(indexed_ % Heap::kMaxFreed)]);
  }
}

// A range whose block has been given to a later allocation. If that one is freed too and covers the range, the
// answer "a freed block contains this address" is still true, so no generation number is needed.
bool BlockStore::is_stale(const Freed::Range& range) const {
  const Block& block = (*this)[range.value];
  return block.end == Block::End::kAlive || block.address > range.begin || end_of(block) < range.end;
}

void BlockStore::sweep(Freed& map) const {
  Freed kept;
  map.for_each([&](const Freed::Range& range) {
    if (!is_stale(range)) kept.insert(range.begin, range.end, range.value);
  });
  map = std::move(kept);
}

const BlockStore::Freed& BlockStore::freed(Space space) const {
  index_pending();
  return freed_[static_cast<unsigned>(space)];
}

BlockStore::Id BlockStore::find_freed(Space space, std::uint64_t address) const {
  const Freed::Range range = freed(space).find(address);
  return range && !is_stale(range) ? range.value : kNone;
}

} // namespace gmt
