// SPDX-License-Identifier: Apache-2.0
// Live blocks lie close together, dead ones are written in sequence, and an index of dead ones is
// only brought up to date when it is asked for.

#include "analyzer/heap/store/block_store.h"

#include <algorithm>
#include <utility>

namespace gmt {
namespace {

// One open of an IPC handle, one retain of a VMM handle: the same address again is one more
// reference.
bool counts_references(trace::MemoryKind memory_kind) {
  return memory_kind == trace::MemoryKind::kIpc || memory_kind == trace::MemoryKind::kVmmHandle;
}

// Allocations that say nothing about a missed release: look-ups of static variables, addresses that
// graphs and other APIs hand out again. Of tensors the first records go when there is no room.
bool is_reallocated_quietly(trace::MemoryKind memory_kind) {
  return is_static(memory_kind) || memory_kind == trace::MemoryKind::kTensor ||
         memory_kind == trace::MemoryKind::kGraph || memory_kind == trace::MemoryKind::kGraphics;
}

} // namespace

BlockStore::Id BlockStore::create(const Block& block) {
  if (free_ids_.empty()) return pool_.add(block);
  const Id id = free_ids_.back();
  free_ids_.pop_back();
  pool_[id] = block;
  return id;
}

void BlockStore::discard(Id id) {
  forget(pool_[id]);
  pool_[id].end = Block::End::kReallocated; // near_ may remember the number
  free_ids_.push_back(id);
}

void BlockStore::forget(Block& dead) {
  if (dead.detail == nullptr) return;
  free_details_.push_back(const_cast<BlockDetail*>(dead.detail)); // ours: see detail_of()
  dead.detail = nullptr;
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
  const Block& block = pool_[id];
  if (!live_[index_of(space_of(block.memory_kind))].insert(block.address, end_of(block), id))
    return false;
  if (space_of(block.memory_kind) == Space::kAddress) near_[near(block.address)] = id;
  if (has_memory(block)) use_.on_allocated(block);
  return true;
}

void BlockStore::count_graph_memory(Id id, bool is_allocated) {
  Block& block = pool_[id];
  if ((block.flags & kGraphRan) != 0) use_.on_freed(block, Block::End::kFreed);
  if (is_allocated) {
    block.flags |= kGraphRan;
    use_.on_allocated(block);
  } else {
    block.flags &= static_cast<std::uint16_t>(~kGraphRan);
  }
}

BlockStore::Id BlockStore::make_live(Id id) {
  while (!insert_live(id)) {
    const Block& block = pool_[id];
    const Id other = find_exact(space_of(block.memory_kind), block.address);
    if (pool_[other].memory_kind == block.memory_kind && counts_references(block.memory_kind)) {
      ++detail_of(pool_[other]).references;
      discard(id);
      return other;
    }
    end_unseen(other, block);
  }
  return id;
}

BlockStore::Id BlockStore::take_live(Id id) {
  const Block& block = pool_[id];
  return live_[index_of(space_of(block.memory_kind))].take(block.address, end_of(block));
}

const Block* BlockStore::live_containing(std::uint64_t address) const {
  for (const Space space : {Space::kAddress, Space::kRegistered, Space::kReservation}) {
    if (const Id id = find_id(space, address); id != kNone) return &pool_[id];
  }
  return nullptr;
}

BlockStore::Id BlockStore::search(Space space, std::uint64_t address) const {
  if (!live_[index_of(space)].may_contain(address)) return kNone;
  if (space == Space::kAddress && contains(near_[near(address)], address)) {
    ordered(space); // what is on top of this block, if anything is, ends it
    if (const Id id = near_[near(address)]; contains(id, address)) return id;
  }
  if (const Id id = find_exact(space, address); id != kNone) return id;
  const LiveIndex::Ranges& ranges = ordered(space);
  if (space != Space::kAddress) return ranges.find(address).value;
  Id& last = near_[near(address)];
  if (contains(last, address)) return last;
  const Id id = ranges.find(address).value;
  if (id != kNone) last = id;
  return id;
}

// Lets the blocks allocated since the last call into the ordered index.
void BlockStore::settle(Space space) {
  LiveIndex& live = live_[index_of(space)];
  live.take_unindexed(unsettled_);
  for (const Id id : unsettled_) {
    const std::uint64_t base = pool_[id].address, end = end_of(pool_[id]);
    if (live.find_exact(base) != id) continue; // ended by another of these
    while (!live.index(base, end, id)) {
      const Range other = live.ranges().first_ending_after(base);
      if (!other || other.begin >= end || other.value == id)
        break; // here already, or an empty range
      const bool is_newer = pool_[id].allocated_at >= pool_[other.value].allocated_at;
      end_unseen(is_newer ? other.value : id, pool_[is_newer ? id : other.value]);
      if (!is_newer) break;
    }
  }
}

void BlockStore::end_unseen(Id older, const Block& newer) {
  if (!is_reallocated_quietly(newer.memory_kind) &&
      !is_reallocated_quietly(pool_[older].memory_kind))
    ++unseen_frees_;
  retire(older, Block::End::kReallocated, By{newer.allocated, newer.api, newer.allocated_at});
}

const Block* BlockStore::retire(Id id, Block::End how, const By& by) {
  Block& block = pool_[id];
  use_.expect(block.allocated);
  take_live(id);
  if (has_memory(block)) use_.on_freed(block, how);
  const Block* kept = nullptr;
  block.end = how;
  block.freed = by.stack;
  block.freed_api = by.api;
  block.freed_at = by.order & kOrderMask;
  if (how == Block::End::kContextEnded) {
    index_pending(); // what died before it comes first
    const Id at = ended_.add(block);
    index_dead(ended_[at], kEnded + at);
    kept = &ended_[at];
  } else {
    kept = keep(block);
  }
  block.detail = nullptr; // it went with the copy
  free_ids_.push_back(id);
  return kept;
}

const Block* BlockStore::keep(const Block& block) {
  Ring& ring = ring_of(space_of(block.memory_kind));
  const std::uint64_t at = ring.retired++;
  if (at < ring.most) return &ring.blocks[ring.blocks.add(block)];
  prefetch(&ring.blocks[static_cast<Id>((at + kFreesAhead) % ring.most)]);
  Block& oldest = ring.blocks[static_cast<Id>(at % ring.most)];
  forget(oldest);
  oldest = block;
  return &oldest;
}

void BlockStore::index_dead(const Block& block, Id number) const {
  const Space space = space_of(block.memory_kind);
  Dead& dead = dead_[index_of(space)];
  std::size_t& sweep_at = sweep_at_[index_of(space)];
  dead.overwrite(block.address, end_of(block), number);
  if (dead.size() > std::max(sweep_at, 2 * ring_of(space).most)) {
    sweep(space);
    sweep_at = 2 * dead.size();
  }
}

void BlockStore::index_pending(const Ring& ring) const {
  if (ring.retired - ring.indexed > ring.most) ring.indexed = ring.retired - ring.most;
  for (; ring.indexed != ring.retired; ++ring.indexed) {
    const auto at = static_cast<Id>(ring.indexed % ring.most);
    index_dead(ring.blocks[at], at);
  }
}

void BlockStore::index_pending() const {
  index_pending(ring_);
  index_pending(regions_);
}

// A range whose slot in the ring has gone to a later block. If that one covers the range too, the
// answer "a freed block contains this address" is still true, so no generation number is needed.
bool BlockStore::is_stale(Space space, const Dead::Range& range) const {
  const Block& block = dead_block(space, range.value);
  return block.address > range.begin || end_of(block) < range.end;
}

void BlockStore::sweep(Space space) const {
  Dead& map = dead_[index_of(space)];
  Dead kept;
  map.for_each([&](const Dead::Range& range) {
    if (!is_stale(space, range)) kept.insert(range.begin, range.end, range.value);
  });
  map = std::move(kept);
}

const Block* BlockStore::find_dead(Space space, std::uint64_t address) const {
  index_pending();
  const Dead::Range range = dead_[index_of(space)].find(address);
  return range && !is_stale(space, range) ? &dead_block(space, range.value) : nullptr;
}

void BlockStore::correct_to_freed(Space space, std::uint64_t base) {
  const Id number = dead_[index_of(space)].find(base).value;
  if (number != Dead::kNone && number >= kEnded) ended_[number - kEnded].end = Block::End::kFreed;
}

} // namespace gmt
