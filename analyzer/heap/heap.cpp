// SPDX-License-Identifier: Apache-2.0
// See heap.h: what others may ask of the heap.

#include "analyzer/heap/heap.h"

#include <algorithm>
#include <vector>

#include "analyzer/heap/heap_replay.h"

namespace gmt {
Heap::Heap() : replay_(std::make_unique<HeapReplay>()) {}
Heap::~Heap() = default;

std::span<const Verdict> Heap::apply(const Event& event) {
  replay_->apply(event);
  accesses_ = replay_->accesses().all();
  return replay_->verdicts().all();
}

void Heap::watch(MemoryWatch& watch) { replay_->watch(&watch); }

// Of all calls but launches the first two numbers, without a look at the kind: what is fetched in
// vain costs less than a branch that cannot be predicted.
void Heap::expect(const Event& e) const {
  if (!is_call(e.kind)) return;
  const BlockStore& store = replay_->store();
  store.expect_base(e.subject().first);
  if (e.kind == EventKind::kLaunch) {
    for (const Argument argument : e.launch().arguments) store.expect(argument.address());
  } else {
    store.expect(e.subject().first);
    store.expect(e.subject().second);
  }
}

void Heap::expect_block(const Event& e) const {
  if (!is_call(e.kind)) return;
  const BlockStore& store = replay_->store();
  if (e.kind == EventKind::kLaunch) {
    for (const Argument argument : e.launch().arguments) store.expect_block(argument.address());
  } else {
    store.expect_block(e.subject().first);
    store.expect_block(e.subject().second);
  }
}

const Block* Heap::find_live(std::uint64_t address) const {
  return replay_->store().live_containing(address);
}
Heap::ArrayPart Heap::find_array(std::uint64_t handle) const {
  return replay_->arrays().part(handle);
}

const Block* Heap::find_freed_array(std::uint64_t handle) const {
  const Arrays& arrays = replay_->arrays();
  return arrays.find(handle) == BlockStore::kNone ? arrays.find_dead(handle) : nullptr;
}

const Block* Heap::find_freed(std::uint64_t address) const {
  return replay_->store().find_dead(Space::kAddress, address);
}

bool Heap::is_host_memory(std::uint64_t address) const {
  return replay_->host_memory().contains(address);
}

const Block* Heap::find_unregistered(std::uint64_t address) const {
  const Block* dead = replay_->store().find_dead(Space::kRegistered, address);
  const bool is_live =
    dead != nullptr && replay_->store().find_id(Space::kRegistered, address) != BlockStore::kNone;
  return is_live ? nullptr : dead;
}

void Heap::for_each_live(const std::function<void(const Block&)>& visit) const {
  std::vector<const Block*> blocks;
  for (const Space space : kAllSpaces) {
    if (has_ranges(space)) replay_->store().ordered(space); // what was overlapped has ended
    replay_->store().for_each_live(
      space, [&](BlockStore::Id, const Block& block) { blocks.push_back(&block); });
  }
  std::ranges::sort(blocks, [](const Block* a, const Block* b) {
    return a->allocated_at != b->allocated_at ? a->allocated_at < b->allocated_at
                                              : a->address < b->address;
  });
  for (const Block* block : blocks) visit(*block);
}

void Heap::for_each_ended_with_context(const std::function<void(const Block&)>& visit) const {
  const BlockPool& ended = replay_->store().ended_with_context();
  for (std::uint32_t i = 0; i < ended.size(); ++i) {
    if (ended[i].end == Block::End::kContextEnded) visit(ended[i]);
  }
}

void Heap::for_each_freed(const VisitFreed& visit) const {
  const auto& live = replay_->store().ordered(Space::kAddress);
  replay_->store().for_each_dead(
    Space::kAddress, [&](std::uint64_t at, std::uint64_t range_end, const Block& block) {
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

const MemoryUse& Heap::use() const { return replay_->store().use(); }
const CudaState& Heap::cuda() const { return replay_->cuda(); }
std::uint64_t Heap::live_device_bytes() const { return use().live_bytes(); }
std::uint64_t Heap::peak_device_bytes() const { return use().peak_bytes(); }
std::uint64_t Heap::peak_order() const { return use().peak_order(); }
bool Heap::sticky_error() const { return sticky_code() != 0; }
std::uint16_t Heap::sticky_code() const { return cuda().contexts.sticky_code(); }
bool Heap::is_dead(std::uint16_t context) const { return cuda().contexts.is_dead(context); }
std::uint64_t Heap::unseen_allocations() const { return replay_->unseen_allocations(); }
std::uint64_t Heap::unseen_frees() const { return replay_->store().unseen_frees(); }
std::uint64_t Heap::newest_order() const { return replay_->newest_order(); }
std::uint64_t Heap::last_kernel() const { return replay_->last_kernel(); }
std::uint64_t Heap::last_blind_call() const { return replay_->last_blind_call(); }
const Block* Heap::unfreed_of_graph(std::uint64_t executable) const {
  return replay_->graphs().unfreed_of(executable);
}
std::vector<const GraphWork*> Heap::kernels_of_graph(std::uint64_t executable) const {
  return replay_->graphs().table().kernels_of(executable);
}
bool Heap::is_graph_of_capture(std::uint64_t executable) const {
  return replay_->graphs().table().is_of_capture(executable);
}

int Heap::device_of(const Block& block) const {
  if (block.device_slot == kHostSlot) return -1;
  return block.device_slot != 0 ? static_cast<int>(block.device_slot) - 1
                                : device_of_context(block.context);
}

int Heap::device_of_context(std::uint16_t context) const {
  return static_cast<int>(cuda().contexts.device_of(context));
}

bool Heap::takes_end(std::uint64_t function, unsigned parameter) const {
  return replay_->ends().contains(function, parameter);
}

const Access* Heap::argument_ending_at(std::uint64_t address) const {
  for (const Access& t : accesses()) {
    const bool is_sized = t.kind == Access::Kind::kArgument && t.block->bytes != 0;
    if (is_sized && BlockStore::end_of(*t.block) == address) return &t;
  }
  return nullptr;
}

const Block* Heap::live_just_behind(std::uint64_t address) const {
  return replay_->readings().live_just_behind(address);
}

} // namespace gmt
