// SPDX-License-Identifier: Apache-2.0
// Allocations and releases.

#include "analyzer/heap/heap_calls.h"
#include "analyzer/heap/heap_parts.h"
#include "analyzer/heap/placement.h"
#include "trace/cuda_results.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

using trace::FreeFunction;
using trace::MemoryKind;

MemoryKind known(MemoryKind memory_kind) {
  return memory_kind < MemoryKind::kTensor ? memory_kind : MemoryKind::kUnknown;
}

// Of the others the word says something else, see trace/records.def.
bool names_stream(MemoryKind memory_kind) {
  return memory_kind != MemoryKind::kVmmHandle && memory_kind != MemoryKind::kVmmMapping &&
         memory_kind != MemoryKind::kGraph;
}

Block block_of(const Event& e, const event::Allocation& alloc) {
  Block block;
  block.address = alloc.address;
  block.bytes = alloc.bytes;
  block.memory_kind = known(alloc.memory_kind);
  block.allocated_at = e.order & kOrderMask;
  block.allocated = e.stack;
  block.api = e.via != trace::kNoApi ? e.via : e.api;
  block.context = e.context;
  if (names_stream(block.memory_kind)) block.stream = alloc.stream;
  if (alloc.is_fenced) block.flags |= kWasFenced;
  return block;
}

void describe(BlockDetail& detail, const event::Allocation& alloc) {
  detail.pitch = alloc.shape->pitch;
  detail.width = alloc.shape->width;
  detail.height = alloc.shape->height;
  detail.depth = alloc.shape->depth;
  detail.element = alloc.shape->element_bytes;
  detail.flags = alloc.shape->flags;
}

void note_unseen(HeapParts& heap, std::uint64_t address) {
  ++heap.unseen_allocations;
  heap.verdicts.add({.kind = Verdict::Kind::kUnseenAllocation, .range_begin = address});
}

// Takes the block at this base out of the heap, or one reference of it.
bool end_block(HeapParts& heap, Space space, std::uint64_t address, const Event& e) {
  const BlockStore::Id id = heap.store.find_exact(space, address);
  if (id == BlockStore::kNone) return false;
  if (heap.store.drop_reference(id)) return true;
  const Block* dead = heap.store.retire(id, Block::End::kFreed, e);
  if (dead->memory_kind == MemoryKind::kVmmMapping) heap.mappings.on_unmapped(*dead);
  if (dead->memory_kind == MemoryKind::kVmmHandle) heap.mappings.on_released(*dead);
  heap.accesses.add_end(*dead);
  if (heap.user_pools.has_regions() && space == Space::kAddress)
    heap.user_pools.end_regions_inside(e, address, dead->bytes);
  return true;
}

void unmap(HeapParts& heap, const Event& e) {
  const event::Free& free = e.free();
  const std::vector<BlockStore::Id> covered = heap.mappings.mappings_in(free.address, free.bytes);
  for (const BlockStore::Id id : covered)
    heap.mappings.on_unmapped(*heap.store.retire(id, Block::End::kFreed, e));
  heap.user_pools.end_regions_inside(e, free.address, free.bytes);
  if (covered.empty() && e.succeeded()) note_unseen(heap, free.address);
}

void accept_free(HeapParts& heap, const Event& e, bool count_unseen) {
  const event::Free& free = e.free();
  const FreeFunction function = free.function;
  const Space space = space_of(function);
  if (function == FreeFunction::kMemUnmap && free.bytes != 0) return unmap(heap, e);
  if (function == FreeFunction::kMemFreeAsync && heap.cuda.captures.any() &&
      heap.graphs.on_captured_free(e))
    return;
  if (end_block(heap, space, free.address, e)) return;
  if (space == Space::kSubAllocation) {
    heap.pool_verdicts.check_release(e, heap.verdicts);
    if (heap.verdicts.all().back().kind == Verdict::Kind::kUnseenAllocation)
      ++heap.unseen_allocations;
    return;
  }
  // CUDA accepts the destruction of a level or plane, and does nothing (measured on an H200, driver
  // 580).
  if (space == Space::kArray && heap.arrays.is_view(free.address)) return;
  if (!count_unseen || function == FreeFunction::kUnmapGraphics) return;
  const Block* dead = heap.store.find_dead(space, free.address);
  if (dead != nullptr && dead->address == free.address) {
    if (dead->memory_kind == MemoryKind::kGraph)
      return; // every launch of the graph allocates it again
    if (dead->end == Block::End::kContextEnded)
      return heap.store.correct_to_freed(space, free.address);
  }
  note_unseen(heap, free.address);
}

void accept_unsure_free(HeapParts& heap, const Event& e) {
  heap.release_verdicts.check_in_flight(e, heap.verdicts);
  if (heap.verdicts.empty()) accept_free(heap, e, false);
}

// The right function for a live block: that it failed explains the leak.
void note_refused(HeapParts& heap, const Event& e) {
  const event::Free& free = e.free();
  const BlockStore::Id id = heap.store.find_exact(space_of(free.function), free.address);
  if (id == BlockStore::kNone || !release_fits(free.function, heap.store[id].memory_kind)) return;
  const auto* gone = heap.cuda.objects.find_destroyed(trace::ObjectClass::kStream, free.stream);
  heap.store.detail_of(heap.store[id]).refused = {life_call(e), e.result, gone != nullptr};
}

// Registered memory is the C library's own: what is freed there stays registered, which only its
// end can make a mistake.
void on_host_free(HeapParts& heap, const Event& e) {
  const BlockStore::Id id = heap.store.find_exact(Space::kRegistered, e.free().address);
  if (id == BlockStore::kNone) return heap.release_verdicts.check_host_free(e, heap.verdicts);
  heap.store[id].flags |= kWasHostFreed;
  heap.store.detail_of(heap.store[id]).host_freed = e.stack;
}

} // namespace

void apply_allocation(HeapParts& heap, const Event& e) {
  const event::Allocation& alloc = e.allocation();
  if (!e.succeeded() || e.from_runtime || alloc.address == 0) return;
  heap.store.use().expect(e.stack);
  Block block = block_of(e, alloc);
  const Placement placement = placement_of(block, alloc, heap.cuda);
  block.device_slot = placement.slot;
  if (block.memory_kind == MemoryKind::kStreamOrdered &&
      heap.cuda.captures.of(e, block.stream) != 0)
    block.memory_kind = MemoryKind::kGraph;
  std::uint64_t physical = 0;
  if (block.memory_kind == MemoryKind::kVmmMapping)
    physical = heap.mappings.on_mapped(block, alloc.stream);
  if (block.memory_kind == MemoryKind::kSubAllocation) heap.user_pools.on_region();
  const BlockStore::Id id = heap.store.create(block);
  if (has_ranges(space_of(block.memory_kind)))
    heap.host_memory.on_allocation(block.address, block.bytes);
  if (alloc.is_shaped) describe(heap.store.detail_of(heap.store[id]), alloc);
  if (placement.pool != 0) heap.store.detail_of(heap.store[id]).pool = placement.pool;
  if (physical != 0) heap.store.detail_of(heap.store[id]).physical = physical;
  if (block.memory_kind == MemoryKind::kGraph) heap.graphs.on_allocation(e, block, alloc.stream);
  if (heap.store.make_live(id) == id)
    heap.accesses.add_allocation(heap.store[id]); // else it is one more reference of a block
}

void apply_free(HeapParts& heap, const Event& e) {
  const event::Free& free = e.free();
  if (free.address == 0) return; // releasing NULL is legal and a common way to force initialisation
  if (free.function == FreeFunction::kHostFree) return on_host_free(heap, e);
  if (free.function == FreeFunction::kGraphFreeNode) {
    if (e.succeeded()) heap.graphs.on_free_node(free);
    return;
  }
  if (!e.from_runtime && e.succeeded()) return accept_free(heap, e, true);
  // Died inside the call, or too late to matter: neither leaked nor freed for sure, so neither is
  // claimed.
  if ((!e.from_runtime && e.in_flight()) || e.result == cuda::CUDA_ERROR_DEINITIALIZED)
    return accept_unsure_free(heap, e);
  if (e.succeeded()) return;
  heap.release_verdicts.check_refused(e, heap.verdicts);
  if (heap.verdicts.empty() && e.result != cuda::CUDA_ERROR_NOT_PERMITTED) note_refused(heap, e);
}

} // namespace gmt
