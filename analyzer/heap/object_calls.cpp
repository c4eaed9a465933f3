// SPDX-License-Identifier: Apache-2.0
// Lives of CUDA's objects, orderings, and what is said of contexts and of the host's memory.

#include <algorithm>
#include <optional>
#include <vector>

#include "analyzer/heap/heap_calls.h"
#include "analyzer/heap/heap_parts.h"
#include "trace/cuda_results.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

using trace::MemoryKind;

// cuda.h on cuCtxDestroy: stream-ordered, pool and VMM memory outlives its context.
bool dies_with_context(MemoryKind memory_kind) {
  switch (memory_kind) {
  case MemoryKind::kStreamOrdered:
  case MemoryKind::kPoolImport:
  case MemoryKind::kGraph:
  case MemoryKind::kVmmHandle:
  case MemoryKind::kVmmReservation:
  case MemoryKind::kVmmMapping:
  case MemoryKind::kMulticast: return false;
  default: return true;
  }
}

void end_contexts(HeapParts& heap, const Event& e, const ContextEnd& end) {
  std::vector<BlockStore::Id> ended;
  for (const Space space : kAllSpaces) {
    if (has_ranges(space)) heap.store.ordered(space); // what was overlapped has ended before
    heap.store.for_each_live(space, [&](BlockStore::Id id, const Block& block) {
      const bool dies =
        dies_with_context(block.memory_kind) && heap.cuda.contexts.is_ended_by(block.context, end);
      if (dies) ended.push_back(id);
    });
  }
  std::ranges::sort(ended, {}, [&heap](BlockStore::Id id) { return heap.store[id].allocated_at; });
  for (const BlockStore::Id id : ended) {
    const Block* dead = heap.store.retire(id, Block::End::kContextEnded, e);
    const bool may_hold_regions =
      heap.user_pools.has_regions() && space_of(dead->memory_kind) == Space::kAddress;
    if (may_hold_regions) heap.user_pools.end_regions_inside(e, dead->address, dead->bytes);
  }
}

void on_user_heap(HeapParts& heap, const Event& e) {
  const event::Life& life = e.life();
  heap.user_pools.on_life(e);
  if (life.op != trace::LifeOp::kCreate) return;
  const BlockStore::Id backing = heap.store.find_id(Space::kAddress, life.address());
  if (backing != BlockStore::kNone)
    // It is not unused
    heap.accesses.add(e, backing, Access::Kind::kBound, life.address(), life.bytes);
}

} // namespace

void apply_sync(HeapParts& heap, const Event& e) {
  heap.cuda.captures.on_sync(e);
  if (e.succeeded() && !e.from_runtime) heap.cuda.objects.on_sync(e);
  if (const auto ended = CaptureTable::ended_by(e)) heap.graphs.on_end_of_capture(e, *ended);
  if (e.sync().op != trace::SyncOp::kGraphLaunch) return;
  if (e.succeeded()) heap.last_kernel = heap.last_blind_call = e.order;
  heap.graphs.on_launch(e, heap.verdicts);
}

void apply_context(HeapParts& heap, const Event& e) {
  heap.cuda.describe_context(e);
  heap.store.use().describe_context(e.context,
                                    static_cast<int>(heap.cuda.contexts.device_of(e.context)));
}

// Another thread may have got a block there meanwhile, and its record comes first.
void apply_host_memory(HeapParts& heap, const Event& e) {
  const event::HostMemory& memory = e.host_memory();
  if (heap.store.find_id(Space::kAddress, memory.address) != BlockStore::kNone) return;
  heap.host_memory.add(memory.address, memory.bytes);
}

void apply_life(HeapParts& heap, const Event& e) {
  heap.cuda.peers.on_life(e); // a refusal may mean that access was given before
  if (e.from_runtime) return;
  if (e.in_flight() || e.result == cuda::CUDA_ERROR_DEINITIALIZED) heap.cuda.objects.on_unsure(e);
  if (!e.succeeded()) return;
  if (e.life().object == trace::ObjectClass::kUserHeap) return on_user_heap(heap, e);
  heap.arrays.on_life(e);
  heap.graphs.on_life(e);
  if (const std::optional<ContextEnd> end = heap.cuda.on_life(e)) end_contexts(heap, e, *end);
}

} // namespace gmt
