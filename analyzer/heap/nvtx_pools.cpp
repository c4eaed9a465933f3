// SPDX-License-Identifier: Apache-2.0
// Pools that register themselves by NVTX's memory extension: their regions are blocks in a space of their
// own, inside blocks of the address space. Called by heap.cpp (births, ends) and verdicts.cpp (copies,
// arguments).
//
// A region ends when the pool takes it back, when the pool is reset, and, as something that was never given
// back, when the pool is unregistered or the memory behind it goes.

#include <algorithm>
#include <vector>

#include "analyzer/heap/heap_state.h"

namespace gmt {

void Heap::State::on_user_heap(const Event& e) {
  const trace::LifeView life(e);
  const std::uint64_t handle = life.handle();
  switch (life.op()) {
  case trace::LifeOp::kCreate:
    user_heaps[handle] = {life.address(), life.bytes()};
    if (const auto backing = store.find(Space::kAddress, life.address())) {
      touch(e, backing.value, Touch::Access::kBound, life.address(), life.bytes()); // not unused, whoever takes from it
    }
    break;
  case trace::LifeOp::kReset: end_regions_of(e, Block::End::kFreed, handle); break;
  case trace::LifeOp::kDestroy:
    end_regions_of(e, Block::End::kContextEnded, handle);
    user_heaps.erase(handle);
    break;
  default: break;
  }
}

// In the order of their births, whatever order they were found in.
void Heap::State::end_regions(const Event& e, Block::End how, std::vector<Id> regions) {
  std::ranges::sort(regions, {}, [this](Id id) { return store[id].born; });
  for (const Id id : regions) store.retire(id, how, e);
}

void Heap::State::end_regions_of(const Event& e, Block::End how, std::uint64_t handle) {
  const auto pool = user_heaps.find(handle);
  std::vector<Id> ended;
  store.ordered(Space::kSubAllocation); // what was overlapped has ended before
  store.for_each_live(Space::kSubAllocation, [&](Id id, const Block& block) {
    const std::uint64_t own = block.shape().pool; // a region that was resized names none
    const bool inside = own == 0 && pool != user_heaps.end() && pool->second.contains(block.address);
    if (handle == 0 || own == handle || inside) ended.push_back(id);
  });
  end_regions(e, how, std::move(ended));
}

// The memory that regions lie in has gone.
void Heap::State::end_regions_inside(const Event& e, std::uint64_t begin, std::uint64_t bytes) {
  const LiveIndex::Ranges& regions = store.ordered(Space::kSubAllocation);
  std::vector<Id> ended;
  auto region = regions.first_ending_after(begin);
  for (; region && (region.begin < begin || region.begin - begin < bytes);
       region = regions.first_ending_after(region.end)) {
    if (region.begin >= begin) ended.push_back(region.value);
  }
  end_regions(e, Block::End::kContextEnded, std::move(ended));
}

// The pool took back what it had not given out. What was registered before the trace began is unknown.
void Heap::State::judge_region_release(const Event& e) {
  const std::uint64_t address = trace::FreeView(e).address();
  Verdict verdict = Verdict::kUnseenAllocation;
  const Block* block = nullptr;
  if (const auto range = store.find(Space::kSubAllocation, address)) {
    verdict = Verdict::kInvalidFreeInside;
    block = &store[range.value];
  } else if (const Block* dead = store.find_dead(Space::kSubAllocation, address);
             dead != nullptr && dead->address == address) {
    verdict = dead->end == Block::End::kContextEnded ? Verdict::kInvalidFreeEnded : Verdict::kDoubleFree;
    block = dead;
  }
  if (block == nullptr) ++unseen_allocations;
  add({.verdict = verdict,
       .block = block,
       .offset = block != nullptr ? address - block->address : 0,
       .range_begin = address});
}

// Whether the range is a region's business, live or gone; the block around it is not judged then. A call on
// the whole block, or the whole pool, is the pool's own.
bool Heap::State::judge_in_pool(const Event& e, const BlockStore::Range& backing, const PoolAccess& a) {
  if (is_sticky(e.result)) return false;
  const UserHeap* pool = user_heap_of(a.address);
  if (a.address == backing.begin && a.bytes >= backing.end - backing.begin) return false;
  if (pool != nullptr && a.address == pool->begin && a.bytes >= pool->bytes) return false;
  if (const auto region = store.find(Space::kSubAllocation, a.address)) {
    if (a.bytes > region.end - a.address) judge_live_range(e, region, a.address, a.bytes, a.side);
    touch(e, region.value, a.access, a.address, a.bytes, a.parameter);
    return true;
  }
  const Block* dead = pool != nullptr ? store.find_dead(Space::kSubAllocation, a.address) : nullptr;
  // Of another block at this address, if it ended before this one was born.
  const bool is_freed = dead != nullptr && dead->end == Block::End::kFreed && dead->died >= store[backing.value].born;
  if (!is_freed) {
    const bool is_launch = !a.arguments.empty() && e.succeeded();
    if (pool != nullptr && is_launch) {
      note_end(trace::LaunchView(e).function(), a.arguments, trace::argument_word(a.address, a.parameter));
    }
    return false;
  }
  Judgement judgement{.verdict = Verdict::kUseAfterFree,
                      .side = a.side,
                      .parameter = static_cast<std::uint8_t>(a.parameter),
                      .block = dead,
                      .offset = a.address - dead->address,
                      .range_begin = a.address,
                      .range_bytes = a.bytes};
  if (a.arguments.empty() || is_mistake(judgement, trace::LaunchView(e).function(), a.arguments)) add(judgement);
  return true;
}

const Heap::State::UserHeap* Heap::State::user_heap_of(std::uint64_t address) const {
  for (const auto& [handle, pool] : user_heaps) {
    if (pool.contains(address)) return &pool;
  }
  return nullptr;
}

} // namespace gmt
