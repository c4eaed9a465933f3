// SPDX-License-Identifier: Apache-2.0
// Virtual memory: which mapping holds which physical memory, so that memory whose handle was released lives
// on while it is mapped, whether anybody was ever given access to it, and what one cuMemUnmap ends. Called by
// heap.cpp at births and ends of mappings, by verdicts.cpp when access is given.

#include <vector>

#include "analyzer/heap/heap_state.h"

namespace gmt {

using trace::Family;

// A mapping's `stream` names its physical memory from now on. An imported handle is as large as what is mapped of
// it: no call tells its size.
void Heap::State::note_mapping(Block& mapping) {
  const Id handle = store.find_exact(Space::kHandle, mapping.stream);
  mapping.stream = handle != kNone ? store[handle].born : 0;
  if (handle == kNone) return;
  Block& physical = store[handle];
  mapping.place = physical.place;
  if (mapping.bytes > physical.bytes) {
    store.use().grew(physical, mapping.bytes - physical.bytes, mapping.born);
    physical.bytes = mapping.bytes;
  }
  ++mapped[mapping.stream].mappings;
}

void Heap::State::end_mapping(const Block& mapping) {
  const auto at = mapped.find(mapping.stream);
  if (at == mapped.end() || --at->second.mappings != 0) return;
  if (at->second.is_released) store.use().died(at->second.released, Block::End::kFreed);
  mapped.erase(at);
}

// One cuMemSetAccess may cover several mappings that lie side by side.
void Heap::State::note_access(const Event& e) {
  if (!e.succeeded() || (e.flags & (trace::kUseReads | trace::kUseWrites)) == 0) return;
  const trace::UseView use(e);
  const std::uint64_t begin = use.address();
  for (std::uint64_t at = begin; at - begin < use.bytes();) {
    const Id id = store.find_id(Space::kAddress, at);
    if (id == kNone || store[id].family != Family::kVmmMapping) return;
    store[id].marks |= kHadAccess;
    at = BlockStore::end_of(store[id]);
  }
}

// One cuMemUnmap may cover several mappings that lie side by side.
void Heap::State::unmap(const Event& e) {
  const trace::FreeView free(e);
  const std::uint64_t begin = free.address();
  const std::uint64_t end = begin > UINT64_MAX - free.bytes() ? UINT64_MAX : begin + free.bytes();
  std::vector<Id> covered;
  for (std::uint64_t at = begin; at < end;) {
    const Id id = store.find_exact(Space::kAddress, at);
    if (id == kNone || store[id].family != Family::kVmmMapping) break;
    covered.push_back(id);
    at = BlockStore::end_of(store[id]);
  }
  for (const Id id : covered) end_mapping(*store.retire(id, Block::End::kFreed, e));
  end_regions_inside(e, begin, free.bytes());
  if (!covered.empty() || !e.succeeded()) return;
  ++unseen_allocations;
  add({.verdict = Verdict::kUnseenAllocation, .range_begin = begin});
}

} // namespace gmt
