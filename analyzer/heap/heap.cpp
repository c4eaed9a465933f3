// SPDX-License-Identifier: Apache-2.0
// Births and deaths: what each accepted call does to the heap. What refused calls mean, and whether a range
// fits, is verdicts.cpp's.
//
// Invariants: a failed call changes nothing; calls nested in another recorded driver call change nothing (the
// outer one does); a live block is in exactly one live index.

#include "analyzer/heap/heap.h"

#include <algorithm>
#include <utility>

#include "analyzer/heap/heap_state.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

using trace::Family;
using trace::FreeFunction;
using trace::Kind;

Family known(Family family) { return family <= Family::kManagedVariable ? family : Family::kUnknown; }

// One open of an IPC handle, one retain of a VMM handle: the same address again is one more reference.
bool counts_references(Family family) { return family == Family::kIpc || family == Family::kVmmHandle; }

// cuda.h on cuCtxDestroy: stream-ordered, pool and VMM memory outlives its context.
bool dies_with_context(Family family) {
  switch (family) {
  case Family::kStreamOrdered:
  case Family::kPoolImport:
  case Family::kGraph:
  case Family::kVmmHandle:
  case Family::kVmmReservation:
  case Family::kVmmMapping:
  case Family::kMulticast: return false;
  default: return true;
  }
}

} // namespace

void Heap::State::apply(const Event& e) {
  if ((e.flags & trace::kFlagNested) != 0) return;
  switch (e.kind) {
  case Kind::kAlloc: on_alloc(e); break;
  case Kind::kFree: on_free(e); break;
  case Kind::kCopy:
    judge_copy(e);
    if (!capturing.empty()) note_captured_use(e, GraphWork::Kind::kCopy);
    break;
  case Kind::kSet:
    judge_set(e);
    if (!capturing.empty()) note_captured_use(e, GraphWork::Kind::kSet);
    break;
  case Kind::kUse:
    if (trace::UseView(e).use() == trace::UseClass::kGraphNode) judge_node_range(e);
    if (on_graph_use(e)) break;
    judge_use(e);
    if (!capturing.empty()) note_captured_use(e, GraphWork::Kind::kOther);
    break;
  case Kind::kLaunch:
    if (e.succeeded()) {
      last_kernel = e.order;
      if ((e.flags & trace::kLaunchScanned) == 0) last_blind_call = e.order;
    }
    judge_launch(e);
    if (!capturing.empty()) note_captured_kernel(e);
    break;
  case Kind::kGraphKernel: on_graph_kernel(e); break;
  case Kind::kGraphChange: on_graph_change(e); break;
  case Kind::kContext: on_context(e); return;
  case Kind::kLife: on_life(e); break;
  case Kind::kSync: on_sync(e); break;
  case Kind::kNote:
    if (e.succeeded() && !e.from_runtime()) last_blind_call = e.order;
    break;
  default: break;
  }
  if (e.result != 0 && is_sticky(e.result)) note_sticky(e);
}

void Heap::State::note_sticky(const Event& e) {
  if (sticky_code == 0) sticky_code = e.result;
  const bool known = e.context < contexts.size() && contexts[e.context].known;
  for (Context& context : contexts) context.dead |= !known;
  if (known) contexts[e.context].dead = true;
}

void Heap::State::on_alloc(const Event& e) {
  const trace::AllocView alloc(e);
  if (!e.succeeded() || e.from_runtime() || alloc.address() == 0) return;
  store.use().expect(e.stack);
  Block block;
  block.address = alloc.address();
  block.bytes = alloc.bytes();
  block.family = known(alloc.memory_kind());
  block.stream = alloc.stream();
  block.born = e.order & trace::kOrderMask;
  block.allocated = e.stack;
  block.api = e.via != trace::kNoApi ? e.via : e.api;
  block.context = e.context;
  const bool is_detailed = alloc.has_second_slot();
  const std::uint64_t pool = place(block, alloc.pool());
  if (block.family == Family::kStreamOrdered && !capturing.empty() && capturing.contains(e.own_stream(block.stream))) {
    block.family = Family::kGraph;
  }
  if (block.family == Family::kVmmMapping) note_mapping(block);
  has_regions = has_regions || block.family == Family::kSubAllocation;
  const Id id = store.create(block);
  if (is_detailed) {
    BlockDetail& detail = store.detail_of(store[id]);
    detail.pitch = alloc.pitch();
    detail.width = alloc.width();
    detail.height = alloc.height();
    detail.depth = alloc.depth();
    detail.element = alloc.element_bytes();
    detail.flags = alloc.flags();
  }
  if (pool != 0) store.detail_of(store[id]).pool = pool;
  if (block.family == Family::kGraph) note_graph_allocation(e, block);
  if (make_live(id) != id) return; // one more reference of a block
  touched.push_back(
    {.block = &store[id], .access = Touch::Access::kBorn, .address = alloc.address(), .bytes = alloc.bytes()});
}

Heap::State::Id Heap::State::make_live(Id id) {
  while (!store.insert_live(id)) {
    const Block& block = store[id];
    const Id other = store.find_exact(space_of(block.family), block.address);
    if (store[other].family == block.family && counts_references(block.family)) {
      ++store.detail_of(store[other]).references;
      store.discard(id);
      return other;
    }
    store.end_unseen(other, block);
  }
  return id;
}

void Heap::State::on_free(const Event& e) {
  const trace::FreeView free(e);
  if (free.address() == 0) return; // releasing NULL is legal and a common way to force initialisation
  if (free.function() == FreeFunction::kHostFree) return judge_host_free(e);
  if (free.function() == FreeFunction::kGraphFreeNode) {
    if (e.succeeded()) graphs[free.graph()].frees.push_back(free.address());
    return;
  }
  if (!e.from_runtime() && e.succeeded()) return accept_free(e, true);
  // Died inside the call, or too late to matter: neither leaked nor freed for sure, so neither is claimed.
  if ((!e.from_runtime() && e.in_flight()) || e.result == cuda::CUDA_ERROR_DEINITIALIZED) return accept_free(e, false);
  if (!e.succeeded()) judge_refused_free(e);
}

void Heap::State::accept_free(const Event& e, bool count_unseen) {
  const trace::FreeView free(e);
  const FreeFunction function = free.function();
  const Space space = space_of(function);
  if (function == FreeFunction::kMemUnmap && free.bytes() != 0) return unmap(e);
  if (function == FreeFunction::kMemFreeAsync && !capturing.empty() && note_captured_free(e)) return;
  if (end_accepted(space, free.address(), e)) return;
  if (space == Space::kSubAllocation) return judge_region_release(e);
  // CUDA accepts the destruction of a level or plane, and does nothing (measured on an H200, driver 580).
  if (space == Space::kArray && views.contains(free.address())) return;
  if (!count_unseen || function == FreeFunction::kUnmapGraphics) return;
  Block* dead = store.find_dead(space, free.address());
  if (dead != nullptr && dead->address == free.address()) {
    if (dead->family == Family::kGraph) return; // every launch of the graph allocates it again
    if (dead->end == Block::End::kContextEnded) {
      dead->end = Block::End::kFreed; // the context had not ended after all
      return;
    }
  }
  ++unseen_allocations;
  add({.verdict = Verdict::kUnseenAllocation, .range_begin = free.address()});
}

// Takes the block at this base out of the heap, or one reference of it.
bool Heap::State::end_accepted(Space space, std::uint64_t address, const Event& e) {
  const Id id = store.find_exact(space, address);
  if (id == kNone) return false;
  const Block& block = store[id];
  if (block.detail != nullptr && block.detail->references > 1) {
    --store.detail_of(store[id]).references;
  } else {
    const Block* dead = store.retire(id, Block::End::kFreed, e);
    if (dead->family == Family::kVmmMapping) end_mapping(*dead);
    if (dead->family == Family::kVmmHandle && mapped.contains(dead->born)) {
      mapped[dead->born].is_released = true;
      mapped[dead->born].released = *dead;
      store.use().outlived(*dead);
    }
    touched.push_back(
      {.block = dead, .access = Touch::Access::kEnded, .address = address, .bytes = dead->bytes});
    if (has_regions && space == Space::kAddress) end_regions_inside(e, address, dead->bytes);
  }
  return true;
}

void Heap::State::on_life(const Event& e) {
  if (!e.succeeded() || e.from_runtime()) return;
  const trace::LifeView life(e);
  const trace::ObjectClass object = life.object();
  const trace::LifeOp op = life.op();
  if (object == trace::ObjectClass::kUserHeap) return on_user_heap(e);
  if (object == trace::ObjectClass::kArrayView && op == trace::LifeOp::kCreate) {
    views[life.handle()] = {life.parent(), life.level(), life.has_second_slot()};
  }
  if (object == trace::ObjectClass::kGraph || object == trace::ObjectClass::kGraphExec) on_graph_life(e);
  note_place(e);
  if (object == trace::ObjectClass::kContext && op == trace::LifeOp::kDestroy) end_context(e, life.handle(), -1);
  if (object != trace::ObjectClass::kPrimaryContext) return;
  const auto device = static_cast<std::int32_t>(life.device());
  if (op == trace::LifeOp::kRetain) ++retained[life.device()];
  if (op == trace::LifeOp::kReset) end_context(e, 0, device);
  // The last release resets. One too many for what we saw means that a retain went unseen: nothing is known.
  if (op == trace::LifeOp::kRelease) {
    const auto count = retained.find(life.device());
    if (count != retained.end() && count->second > 0 && --count->second == 0) {
      last_release = e.order;
      end_context(e, 0, device);
    }
  }
}

bool Heap::State::ends_with(const Block& block, std::uint64_t handle, std::int64_t device) const {
  if (!dies_with_context(block.family)) return false;
  if (block.context >= contexts.size() || !contexts[block.context].known) {
    return contexts.empty() && block.context == 0; // no context was ever described: there is but this one
  }
  const Context& context = contexts[block.context];
  return device >= 0 ? context.primary && context.device == device : context.handle == handle;
}

void Heap::State::end_context(const Event& e, std::uint64_t handle, std::int64_t device) {
  std::vector<Id> ended;
  for (const Space space : kAllSpaces) {
    if (has_ranges(space)) store.ordered(space); // what was overlapped has ended before
    store.for_each_live(space, [&](Id id, const Block& block) {
      if (ends_with(block, handle, device)) ended.push_back(id);
    });
  }
  std::ranges::sort(ended, {}, [this](Id id) { return store[id].born; });
  for (const Id id : ended) {
    const Block* dead = store.retire(id, Block::End::kContextEnded, e);
    if (has_regions && space_of(dead->family) == Space::kAddress) {
      end_regions_inside(e, dead->address, dead->bytes);
    }
  }
}

Heap::Heap() : state_(std::make_unique<State>()) {}
Heap::~Heap() = default;

std::span<const Judgement> Heap::apply(const Event& event) {
  state_->judged = 0;
  state_->touched.clear();
  state_->apply(event);
  touched_ = state_->touched;
  return {state_->judgements.data(), state_->judged};
}

const Block* Heap::find_live(std::uint64_t address) const { return state_->live_containing(address); }

const Block* Heap::find_freed(std::uint64_t address) const {
  return std::as_const(state_->store).find_dead(Space::kAddress, address);
}

void Heap::for_each_live(const std::function<void(const Block&)>& visit) const {
  std::vector<const Block*> blocks;
  for (const Space space : kAllSpaces) {
    if (has_ranges(space)) state_->store.ordered(space); // what was overlapped has ended
    state_->store.for_each_live(space, [&](State::Id, const Block& block) { blocks.push_back(&block); });
  }
  std::ranges::sort(blocks, [](const Block* a, const Block* b) {
    return a->born != b->born ? a->born < b->born : a->address < b->address;
  });
  for (const Block* block : blocks) visit(*block);
}

void Heap::for_each_ended_with_context(const std::function<void(const Block&)>& visit) const {
  const BlockPool& ended = state_->store.ended_with_context();
  for (std::uint32_t i = 0; i < ended.size(); ++i) {
    if (ended[i].end == Block::End::kContextEnded) visit(ended[i]);
  }
}

std::uint64_t Heap::live_device_bytes() const { return state_->store.use().live_bytes(); }
std::uint64_t Heap::peak_device_bytes() const { return state_->store.use().peak_bytes(); }
std::uint64_t Heap::peak_order() const { return state_->store.use().peak_order(); }
const MemoryUse& Heap::use() const { return state_->store.use(); }
bool Heap::sticky_error() const { return state_->sticky_code != 0; }
std::uint16_t Heap::sticky_code() const { return state_->sticky_code; }
bool Heap::is_dead(std::uint16_t context) const { return state_->is_dead(context); }
std::uint64_t Heap::unseen_allocations() const { return state_->unseen_allocations; }
std::uint64_t Heap::unseen_frees() const { return state_->store.unseen_frees(); }

bool Heap::ends_context(const Event& e, std::uint16_t id) const {
  if (e.kind != trace::Kind::kLife || !e.succeeded() || e.from_runtime()) return false;
  if (id >= state_->contexts.size() || !state_->contexts[id].known) return false;
  const State::Context& context = state_->contexts[id];
  const trace::LifeView life(e);
  const trace::LifeOp op = life.op();
  if (life.object() == trace::ObjectClass::kContext) {
    return op == trace::LifeOp::kDestroy && context.handle == life.handle();
  }
  const bool ends = op == trace::LifeOp::kReset ||
                    (op == trace::LifeOp::kRelease && state_->last_release == e.order);
  return life.object() == trace::ObjectClass::kPrimaryContext && ends && context.primary &&
         context.device == static_cast<std::int32_t>(life.device());
}

std::uint64_t Heap::last_kernel() const { return state_->last_kernel; }
std::uint64_t Heap::last_blind_call() const { return state_->last_blind_call; }

std::uint64_t Heap::capture_of(const Event& e, std::uint64_t stream) const {
  if (state_->capturing.empty()) return 0;
  const auto origin = state_->capturing.find(e.own_stream(stream));
  return origin != state_->capturing.end() ? origin->second : 0;
}

void Heap::for_each_freed(const VisitFreed& visit) const {
  const auto& live = state_->store.ordered(Space::kAddress);
  state_->store.for_each_dead(Space::kAddress,
                              [&](std::uint64_t at, std::uint64_t range_end, const Block& block) {
    // What is live again is not free: walk the gaps inside the range.
    while (at < range_end) {
      const auto alive = live.first_ending_after(at);
      const bool inside = alive && alive.begin < range_end;
      const std::uint64_t stop = inside ? std::max(alive.begin, at) : range_end;
      if (stop > at) visit(at, stop, block);
      at = inside ? alive.end : range_end;
    }
  });
}

} // namespace gmt
