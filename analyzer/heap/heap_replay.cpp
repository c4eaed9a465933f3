// SPDX-License-Identifier: Apache-2.0
#include "analyzer/heap/heap_replay.h"

#include <algorithm>
#include <optional>

#include "analyzer/heap/placement.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

using trace::FreeFunction;
using Kind = EventKind;
using trace::MemoryKind;

MemoryKind known(MemoryKind memory_kind) {
  return memory_kind <= MemoryKind::kManagedVariable ? memory_kind : MemoryKind::kUnknown;
}

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

} // namespace

void HeapReplay::apply(const Event& e) {
  verdicts_.clear();
  accesses_.clear();
  if (e.is_nested) return;
  newest_order_ = e.order;
  switch (e.kind) {
  case Kind::kAlloc: on_alloc(e); break;
  case Kind::kFree: on_free(e); break;
  case Kind::kCopy: on_copy(e); break;
  case Kind::kSet: on_set(e); break;
  case Kind::kUse: on_use(e); break;
  case Kind::kLaunch: on_launch(e); break;
  case Kind::kGraphKernel: graphs_.on_kernel(e, accesses_, verdicts_); break;
  case Kind::kGraphChange: graphs_.on_change(e); break;
  case Kind::kContext: on_context(e); return;
  case Kind::kHostMemory: on_host_memory(e); return;
  case Kind::kLaunchLimits: cuda_.launch_limits.add(e); return;
  case Kind::kLife: on_life(e); break;
  case Kind::kSync: on_sync(e); break;
  case Kind::kNote:
    if (e.succeeded() && !e.from_runtime) last_blind_call_ = e.order;
    break;
  default: break;
  }
  for (const CallVerdicts::End& end : verdicts_.ends()) ends_.add(end);
  if (e.result != 0 && is_sticky(e.result)) cuda_.contexts.on_sticky_error(e);
}

// ---- allocations and releases

void HeapReplay::on_alloc(const Event& e) {
  const event::Allocation& alloc = e.allocation();
  if (!e.succeeded() || e.from_runtime || alloc.address == 0) return;
  store_.use().expect(e.stack);
  Block block = block_of(e, alloc);
  const Placement placement = placement_of(block, alloc, cuda_);
  block.device_slot = placement.slot;
  if (block.memory_kind == MemoryKind::kStreamOrdered && cuda_.captures.of(e, block.stream) != 0)
    block.memory_kind = MemoryKind::kGraph;
  std::uint64_t physical = 0;
  if (block.memory_kind == MemoryKind::kVmmMapping)
    physical = mappings_.on_mapped(block, alloc.stream);
  if (block.memory_kind == MemoryKind::kSubAllocation) user_pools_.on_region();
  const Id id = store_.create(block);
  if (has_ranges(space_of(block.memory_kind)))
    host_memory_.on_allocation(block.address, block.bytes);
  if (alloc.is_shaped) describe(store_.detail_of(store_[id]), alloc);
  if (placement.pool != 0) store_.detail_of(store_[id]).pool = placement.pool;
  if (physical != 0) store_.detail_of(store_[id]).physical = physical;
  if (block.memory_kind == MemoryKind::kGraph) graphs_.on_allocation(e, block, alloc.stream);
  if (store_.make_live(id) == id)
    accesses_.add_allocation(store_[id]); // else it is one more reference of a block
}

void HeapReplay::on_free(const Event& e) {
  const event::Free& free = e.free();
  if (free.address == 0) return; // releasing NULL is legal and a common way to force initialisation
  if (free.function == FreeFunction::kHostFree) return on_host_free(e);
  if (free.function == FreeFunction::kGraphFreeNode) {
    if (e.succeeded()) graphs_.on_free_node(free);
    return;
  }
  if (!e.from_runtime && e.succeeded()) return accept_free(e, true);
  // Died inside the call, or too late to matter: neither leaked nor freed for sure, so neither is
  // claimed.
  if ((!e.from_runtime && e.in_flight()) || e.result == cuda::CUDA_ERROR_DEINITIALIZED)
    return accept_unsure_free(e);
  if (e.succeeded()) return;
  release_verdicts_.check_refused(e, verdicts_);
  if (verdicts_.empty() && e.result != cuda::CUDA_ERROR_NOT_PERMITTED) note_refused(e);
}

void HeapReplay::accept_unsure_free(const Event& e) {
  release_verdicts_.check_in_flight(e, verdicts_);
  if (verdicts_.empty()) accept_free(e, false);
}

// The right function for a live block: that it failed explains the leak.
void HeapReplay::note_refused(const Event& e) {
  const event::Free& free = e.free();
  const Id id = store_.find_exact(space_of(free.function), free.address);
  if (id == kNone || !release_fits(free.function, store_[id].memory_kind)) return;
  const auto* gone = cuda_.objects.find_destroyed(trace::ObjectClass::kStream, free.stream);
  store_.detail_of(store_[id]).refused = {life_call(e), e.result, gone != nullptr};
}

// Registered memory is the C library's own: what is freed there stays registered, which only its
// end can make a mistake.
void HeapReplay::on_host_free(const Event& e) {
  const Id id = store_.find_exact(Space::kRegistered, e.free().address);
  if (id == kNone) return release_verdicts_.check_host_free(e, verdicts_);
  store_[id].flags |= kWasHostFreed;
  store_.detail_of(store_[id]).host_freed = e.stack;
}

void HeapReplay::accept_free(const Event& e, bool count_unseen) {
  const event::Free& free = e.free();
  const FreeFunction function = free.function;
  const Space space = space_of(function);
  if (function == FreeFunction::kMemUnmap && free.bytes != 0) return unmap(e);
  if (function == FreeFunction::kMemFreeAsync && cuda_.captures.any() &&
      graphs_.on_captured_free(e))
    return;
  if (end_block(space, free.address, e)) return;
  if (space == Space::kSubAllocation) {
    pool_verdicts_.check_release(e, verdicts_);
    if (verdicts_.all().back().kind == Verdict::Kind::kUnseenAllocation) ++unseen_allocations_;
    return;
  }
  // CUDA accepts the destruction of a level or plane, and does nothing (measured on an H200, driver
  // 580).
  if (space == Space::kArray && arrays_.is_view(free.address)) return;
  if (!count_unseen || function == FreeFunction::kUnmapGraphics) return;
  const Block* dead = store_.find_dead(space, free.address);
  if (dead != nullptr && dead->address == free.address) {
    if (dead->memory_kind == MemoryKind::kGraph)
      return; // every launch of the graph allocates it again
    if (dead->end == Block::End::kContextEnded) return store_.correct_to_freed(space, free.address);
  }
  note_unseen(free.address);
}

void HeapReplay::note_unseen(std::uint64_t address) {
  ++unseen_allocations_;
  verdicts_.add({.kind = Verdict::Kind::kUnseenAllocation, .range_begin = address});
}

// Takes the block at this base out of the heap, or one reference of it.
bool HeapReplay::end_block(Space space, std::uint64_t address, const Event& e) {
  const Id id = store_.find_exact(space, address);
  if (id == kNone) return false;
  if (store_.drop_reference(id)) return true;
  const Block* dead = store_.retire(id, Block::End::kFreed, e);
  if (dead->memory_kind == MemoryKind::kVmmMapping) mappings_.on_unmapped(*dead);
  if (dead->memory_kind == MemoryKind::kVmmHandle) mappings_.on_released(*dead);
  accesses_.add_end(*dead);
  if (user_pools_.has_regions() && space == Space::kAddress)
    user_pools_.end_regions_inside(e, address, dead->bytes);
  return true;
}

void HeapReplay::unmap(const Event& e) {
  const event::Free& free = e.free();
  const std::vector<Id> covered = mappings_.mappings_in(free.address, free.bytes);
  for (const Id id : covered) mappings_.on_unmapped(*store_.retire(id, Block::End::kFreed, e));
  user_pools_.end_regions_inside(e, free.address, free.bytes);
  if (covered.empty() && e.succeeded()) note_unseen(free.address);
}

// ---- uses

void HeapReplay::add_access(const Event& e, const NamedMemory& named, Access::Kind access,
                            unsigned parameter) {
  if (named.region != kNone)
    accesses_.add(e, named.region, access, named.address, named.bytes, parameter);
  if (named.block != kNone)
    accesses_.add(e, named.block, access, named.address, named.bytes, parameter);
}

void HeapReplay::on_copy(const Event& e) {
  cuda_.objects.count_work();
  add_access(e, range_verdicts_.check_copy_side(e, Side::kDestination, verdicts_),
             Access::Kind::kWrite);
  add_access(e, range_verdicts_.check_copy_side(e, Side::kSource, verdicts_), Access::Kind::kRead);
  if (e.result == cuda::CUDA_ERROR_INVALID_VALUE && verdicts_.empty())
    bounds_.check_strays(e, verdicts_);
  if (cuda_.captures.any()) graphs_.on_captured_use(e, GraphWork::Kind::kCopy, accesses_.all());
}

void HeapReplay::on_set(const Event& e) {
  cuda_.objects.count_work();
  add_access(e, range_verdicts_.check_set(e, verdicts_), Access::Kind::kWrite);
  if (e.result == cuda::CUDA_ERROR_INVALID_VALUE && verdicts_.empty())
    bounds_.check_strays(e, verdicts_);
  if (cuda_.captures.any()) graphs_.on_captured_use(e, GraphWork::Kind::kSet, accesses_.all());
}

void HeapReplay::on_use(const Event& e) {
  const trace::UseClass use = e.use().use;
  if (e.succeeded() && !e.from_runtime) cuda_.objects.on_bound(e);
  if (use == trace::UseClass::kGraphNode) range_verdicts_.check_node(e, verdicts_);
  if (graphs_.on_use(e, accesses_)) return;
  if (use == trace::UseClass::kAccess && !cuda_.contexts.is_dead(e.context)) mappings_.on_access(e);
  const NamedMemory named = range_verdicts_.check_use(e, verdicts_);
  add_access(e, named, Access::Kind::kBound);
  const bool exports = use == trace::UseClass::kExport && e.succeeded() && named.block != kNone;
  if (exports && has_ranges(space_of(store_[named.block].memory_kind)))
    store_[named.block].flags |= kWasExported;
  if (cuda_.captures.any()) graphs_.on_captured_use(e, GraphWork::Kind::kOther, accesses_.all());
}

void HeapReplay::on_launch(const Event& e) {
  cuda_.objects.count_work();
  if (e.succeeded()) {
    last_kernel_ = e.order;
    if (!e.launch().is_scanned) last_blind_call_ = e.order;
  }
  const Arguments words = e.launch().arguments;
  const bool is_captured = cuda_.captures.any();
  if (!words.empty() && !cuda_.contexts.is_dead(e.context)) {
    for (const Argument word : words) {
      const std::uint64_t address = word.address();
      const unsigned parameter = word.parameter();
      const Id id = word.is_unused() ? kNone : store_.find_id(Space::kAddress, address);
      if (id != kNone && !user_pools_.has_regions()) { // nearly all
        accesses_.add(e, id, Access::Kind::kArgument, address, 0, parameter);
      } else if (!word.is_unused()) {
        add_access(e, argument_verdicts_.check(e, word, id, verdicts_), Access::Kind::kArgument,
                   parameter);
      }
      if (is_captured) argument_blocks_.push_back(id);
    }
  }
  if (!is_captured) return;
  graphs_.on_captured_kernel(e, argument_blocks_);
  argument_blocks_.clear();
}

// ---- objects of CUDA

void HeapReplay::on_sync(const Event& e) {
  cuda_.captures.on_sync(e);
  if (e.succeeded() && !e.from_runtime) cuda_.objects.on_sync(e);
  if (const auto ended = CaptureTable::ended_by(e)) graphs_.on_end_of_capture(e, *ended);
  if (e.sync().op != trace::SyncOp::kGraphLaunch) return;
  if (e.succeeded()) last_kernel_ = last_blind_call_ = e.order;
  graphs_.on_launch(e, verdicts_);
}

void HeapReplay::on_context(const Event& e) {
  cuda_.describe_context(e);
  store_.use().describe_context(e.context, static_cast<int>(cuda_.contexts.device_of(e.context)));
}

// Another thread may have got a block there meanwhile, and its record comes first.
void HeapReplay::on_host_memory(const Event& e) {
  const event::HostMemory& memory = e.host_memory();
  if (store_.find_id(Space::kAddress, memory.address) != kNone) return;
  host_memory_.add(memory.address, memory.bytes);
}

void HeapReplay::on_life(const Event& e) {
  cuda_.peers.on_life(e); // a refusal may mean that access was given before
  if (e.from_runtime) return;
  if (e.in_flight() || e.result == cuda::CUDA_ERROR_DEINITIALIZED) cuda_.objects.on_unsure(e);
  if (!e.succeeded()) return;
  if (e.life().object == trace::ObjectClass::kUserHeap) return on_user_heap(e);
  arrays_.on_life(e);
  graphs_.on_life(e);
  if (const std::optional<ContextEnd> end = cuda_.on_life(e)) end_contexts(e, *end);
}

void HeapReplay::on_user_heap(const Event& e) {
  const event::Life& life = e.life();
  user_pools_.on_life(e);
  if (life.op != trace::LifeOp::kCreate) return;
  const Id backing = store_.find_id(Space::kAddress, life.address());
  if (backing != kNone)
    // It is not unused
    accesses_.add(e, backing, Access::Kind::kBound, life.address(), life.bytes);
}

void HeapReplay::end_contexts(const Event& e, const ContextEnd& end) {
  std::vector<Id> ended;
  for (const Space space : kAllSpaces) {
    if (has_ranges(space)) store_.ordered(space); // what was overlapped has ended before
    store_.for_each_live(space, [&](Id id, const Block& block) {
      const bool dies =
        dies_with_context(block.memory_kind) && cuda_.contexts.is_ended_by(block.context, end);
      if (dies) ended.push_back(id);
    });
  }
  std::ranges::sort(ended, {}, [this](Id id) { return store_[id].allocated_at; });
  for (const Id id : ended) {
    const Block* dead = store_.retire(id, Block::End::kContextEnded, e);
    const bool may_hold_regions =
      user_pools_.has_regions() && space_of(dead->memory_kind) == Space::kAddress;
    if (may_hold_regions) user_pools_.end_regions_inside(e, dead->address, dead->bytes);
  }
}

} // namespace gmt
