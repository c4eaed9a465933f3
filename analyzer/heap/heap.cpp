// SPDX-License-Identifier: Apache-2.0
// Applies each event by the function of its kind, and answers for the parts.

#include "analyzer/heap/heap.h"

#include <algorithm>
#include <vector>

#include "analyzer/heap/heap_calls.h"
#include "analyzer/heap/heap_parts.h"

namespace gmt {
namespace {

// What few calls leave to do.
[[gnu::noinline]] void conclude(HeapParts& heap, const Event& e) {
  for (const CallVerdicts::End& end : heap.verdicts.ends()) heap.ends.add(end);
  if (e.result != 0 && is_sticky(e.result)) heap.cuda.contexts.on_sticky_error(e);
}

void apply_to(HeapParts& heap, const Event& e) {
  heap.newest_order = e.order;
  switch (e.kind) {
  case EventKind::kAlloc: apply_allocation(heap, e); break;
  case EventKind::kFree: apply_free(heap, e); break;
  case EventKind::kCopy: apply_copy(heap, e); break;
  case EventKind::kSet: apply_set(heap, e); break;
  case EventKind::kUse: apply_use(heap, e); break;
  case EventKind::kLaunch: apply_launch(heap, e); break;
  case EventKind::kGraphKernel: heap.graphs.on_kernel(e, heap.accesses, heap.verdicts); break;
  case EventKind::kGraphChange: heap.graphs.on_change(e); break;
  case EventKind::kContext: apply_context(heap, e); return;
  case EventKind::kHostMemory: apply_host_memory(heap, e); return;
  case EventKind::kLaunchLimits: heap.cuda.launch_limits.add(e); return;
  case EventKind::kTensor: apply_tensor(heap, e); return;
  case EventKind::kLife: apply_life(heap, e); break;
  case EventKind::kSync: apply_sync(heap, e); break;
  case EventKind::kNote:
    if (e.succeeded() && !e.from_runtime) heap.last_blind_call = e.order;
    break;
  default: break;
  }
  if (e.result != 0 || !heap.verdicts.ends().empty()) [[unlikely]]
    conclude(heap, e);
}

} // namespace

Heap::Heap() : parts_(std::make_unique<HeapParts>()), cuda_(parts_->cuda) {}
Heap::~Heap() = default;

std::span<const Verdict> Heap::apply(const Event& e) {
  HeapParts& heap = *parts_;
  heap.verdicts.clear();
  heap.accesses.clear();
  heap.tensor_accesses.clear();
  if (!e.is_nested) apply_to(heap, e);
  accesses_ = heap.accesses.all();
  return heap.verdicts.all();
}

void Heap::expect_poison() { parts_->has_poison = true; }

void Heap::watch(MemoryWatch& watch) { parts_->store.use().watch(&watch); }

// Of all events but launches the first two numbers, without a look at the kind: what is fetched in
// vain costs less than a branch that cannot be predicted.
void Heap::expect(const Event& e) const {
  const BlockStore& store = parts_->store;
  if (e.kind == EventKind::kLaunch) {
    for (const Argument argument : e.launch().arguments) store.expect(argument.address());
  } else {
    store.expect_base(e.subject().first);
    store.expect(e.subject().first);
    store.expect(e.subject().second);
  }
}

void Heap::expect_block(const Event& e) const {
  const BlockStore& store = parts_->store;
  if (e.kind == EventKind::kLaunch) {
    for (const Argument argument : e.launch().arguments) store.expect_block(argument.address());
    return;
  }
  store.expect_block(e.subject().first);
  store.expect_block(e.subject().second);
}

const Block* Heap::find_live(std::uint64_t address) const {
  return parts_->store.live_containing(address);
}
Heap::ArrayPart Heap::find_array(std::uint64_t handle) const { return parts_->arrays.part(handle); }

const Block* Heap::find_freed_array(std::uint64_t handle) const {
  const Arrays& arrays = parts_->arrays;
  return arrays.find(handle) == BlockStore::kNone ? arrays.find_dead(handle) : nullptr;
}

const Block* Heap::find_freed(std::uint64_t address) const {
  return parts_->store.find_dead(Space::kAddress, address);
}

bool Heap::is_host_memory(std::uint64_t address) const {
  return parts_->host_memory.contains(address);
}

const Block* Heap::find_unregistered(std::uint64_t address) const {
  const Block* dead = parts_->store.find_dead(Space::kRegistered, address);
  const bool is_live =
    dead != nullptr && parts_->store.find_id(Space::kRegistered, address) != BlockStore::kNone;
  return is_live ? nullptr : dead;
}

void Heap::for_each_live(const std::function<void(const Block&)>& visit) const {
  std::vector<const Block*> blocks;
  for (const Space space : kAllSpaces) {
    if (has_ranges(space)) parts_->store.ordered(space); // what was overlapped has ended
    parts_->store.for_each_live(space, [&](BlockStore::Id, const Block& block) {
      if (!is_tensor(block)) blocks.push_back(&block);
    });
  }
  std::ranges::sort(blocks, [](const Block* a, const Block* b) {
    return a->allocated_at != b->allocated_at ? a->allocated_at < b->allocated_at
                                              : a->address < b->address;
  });
  for (const Block* block : blocks) visit(*block);
}

std::span<const Access> Heap::tensor_accesses() const { return parts_->tensor_accesses.all(); }

const Block* Heap::find_tensor(std::uint64_t address) const {
  const BlockStore::Id id = parts_->store.find_id(Space::kSubAllocation, address);
  if (id == BlockStore::kNone || !is_tensor(parts_->store[id])) return nullptr;
  return &parts_->store[id];
}

void Heap::for_each_tensor(const std::function<void(const Block&)>& visit) const {
  std::vector<const Block*> blocks;
  parts_->store.ordered(Space::kSubAllocation); // what was overlapped has ended
  parts_->store.for_each_live(Space::kSubAllocation, [&](BlockStore::Id, const Block& block) {
    if (is_tensor(block)) blocks.push_back(&block);
  });
  std::ranges::sort(blocks, {}, &Block::address);
  for (const Block* block : blocks) visit(*block);
}

void Heap::for_each_ended_with_context(const std::function<void(const Block&)>& visit) const {
  const BlockPool& ended = parts_->store.ended_with_context();
  for (std::uint32_t i = 0; i < ended.size(); ++i) {
    if (ended[i].end == Block::End::kContextEnded) visit(ended[i]);
  }
}

// Blocks first, then regions of pools and tensors.
void Heap::for_each_freed(const VisitFreed& visit) const {
  for (const Space space : {Space::kAddress, Space::kSubAllocation}) {
    const auto& live = parts_->store.ordered(space);
    parts_->store.for_each_dead(
      space, [&](std::uint64_t at, std::uint64_t range_end, const Block& block) {
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
}

const MemoryUse& Heap::use() const { return parts_->store.use(); }
std::uint64_t Heap::live_device_bytes() const { return use().live_bytes(); }
std::uint64_t Heap::peak_device_bytes() const { return use().peak_bytes(); }
std::uint64_t Heap::peak_order() const { return use().peak_order(); }
bool Heap::sticky_error() const { return sticky_code() != 0; }
std::uint16_t Heap::sticky_code() const { return cuda().contexts.sticky_code(); }
bool Heap::is_dead(std::uint16_t context) const { return cuda().contexts.is_dead(context); }
std::uint64_t Heap::unseen_allocations() const { return parts_->unseen_allocations; }
std::uint64_t Heap::unseen_frees() const { return parts_->store.unseen_frees(); }
std::uint64_t Heap::newest_order() const { return parts_->newest_order; }
std::uint64_t Heap::last_kernel() const { return parts_->last_kernel; }
std::uint64_t Heap::last_blind_call() const { return parts_->last_blind_call; }
const Block* Heap::unfreed_of_graph(std::uint64_t executable) const {
  return parts_->graphs.unfreed_of(executable);
}
std::vector<const GraphWork*> Heap::kernels_of_graph(std::uint64_t executable) const {
  return parts_->graphs.table().kernels_of(executable);
}
bool Heap::is_graph_of_capture(std::uint64_t executable) const {
  return parts_->graphs.table().is_of_capture(executable);
}

bool Heap::takes_end(std::uint64_t function, unsigned parameter) const {
  return parts_->ends.contains(function, parameter);
}

const Access* Heap::argument_ending_at(std::uint64_t address) const {
  for (const Access& t : accesses()) {
    const bool is_sized = t.kind == Access::Kind::kArgument && t.block->bytes != 0;
    if (is_sized && BlockStore::end_of(*t.block) == address) return &t;
  }
  return nullptr;
}

const Block* Heap::live_just_behind(std::uint64_t address) const {
  return parts_->readings.live_just_behind(address);
}

} // namespace gmt
