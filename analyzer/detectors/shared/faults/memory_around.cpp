// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/faults/memory_around.h"

#include <algorithm>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

using Where = MemoryAround::Where;

// Memory by its address that kernels can use; handles, and ranges without memory, are none.
bool has_addresses(const Block& block) {
  switch (block.memory_kind) {
  case trace::MemoryKind::kArray:
  case trace::MemoryKind::kMipmappedArray:
  case trace::MemoryKind::kVmmHandle:
  case trace::MemoryKind::kVmmReservation:
  case trace::MemoryKind::kMulticast:
  case trace::MemoryKind::kSubAllocation:
  case trace::MemoryKind::kTensor: return false;
  default: return block.bytes != 0;
  }
}

// How far a neighbour may lie away to count as one.
std::uint64_t reach(const Block& block) { return std::max(kFarthestNeighbour, block.bytes); }

bool was_live(const Block& freed, std::uint64_t order) {
  return freed.allocated_at <= order && freed.freed_at > order;
}

// The blocks on both sides of an address.
struct Neighbours {
  MemoryAround below, above;
};

Neighbours neighbours(std::uint64_t address, const HeapAt& at) {
  Neighbours best;
  const auto consider = [&](const Block& block) {
    if (!has_addresses(block) || block.allocated_at > at.newest) return;
    const std::uint64_t end = block.address + block.bytes;
    const bool behind = address >= end;
    if (!behind && address >= block.address) return;
    const std::uint64_t distance = behind ? address - end : block.address - address;
    MemoryAround& side = behind ? best.below : best.above;
    const bool closer = side.block == nullptr || distance < side.distance;
    if (distance <= reach(block) && closer)
      side = {behind ? Where::kBehind : Where::kBefore, &block, distance};
  };
  at.heap.for_each_live(consider);
  if (at.order == UINT64_MAX) return best;
  at.heap.for_each_freed([&](std::uint64_t, std::uint64_t, const Block& block) {
    if (was_live(block, at.order)) consider(block);
  });
  return best;
}

bool is_given(const Block& block, Arguments arguments) {
  return std::ranges::any_of(
    arguments, [&block](Argument word) { return word.address() - block.address < block.bytes; });
}

// The closer one, but not the one above where the launch was given the one below alone: then the
// kernel went on from that.
MemoryAround nearest(std::uint64_t address, const HeapAt& at, Arguments arguments) {
  const auto [below, above] = neighbours(address, at);
  if (below.block == nullptr || above.block == nullptr)
    return below.block == nullptr ? above : below;
  if (above.distance >= below.distance) return below;
  const bool is_from_below =
    is_given(*below.block, arguments) && !is_given(*above.block, arguments);
  return is_from_below ? below : above;
}

// The region of a pool, or the tensor, that an access means which is wrong though it lies in a live
// block. No block: that has no regions, or the access lies in one of them.
MemoryAround region_around(std::uint64_t address, std::uint64_t bytes, const HeapAt& at) {
  const Block* const pool = live_at(address, at);
  if (pool == nullptr) return {};
  MemoryAround around, freed;
  bool is_inside = false;
  const auto consider = [&](const Block& block) {
    const bool is_of_pool =
      block.address >= pool->address && block.address - pool->address < pool->bytes;
    if (!is_of_pool || block.allocated_at > at.newest || block.bytes == 0) return;
    const std::uint64_t end = block.address + block.bytes;
    MemoryAround found{Where::kBehind, &block, address - end};
    if (address < block.address) found = {Where::kBefore, &block, block.address - address};
    else if (address < end) found = {Where::kAcross, &block, address - block.address};
    if (found.where == Where::kAcross && bytes <= end - address) is_inside = true;
    const bool is_closer = around.block == nullptr || found.where == Where::kAcross ||
                           (around.where != Where::kAcross && found.distance < around.distance);
    if (is_closer) around = found;
  };
  at.heap.for_each_live([&](const Block& block) {
    if (block.memory_kind == trace::MemoryKind::kSubAllocation) consider(block);
  });
  at.heap.for_each_tensor(consider);
  at.heap.for_each_freed([&](std::uint64_t begin, std::uint64_t end, const Block& block) {
    const bool is_region = block.memory_kind == trace::MemoryKind::kSubAllocation ||
                           block.memory_kind == trace::MemoryKind::kTensor;
    if (!is_region) return;
    if (at.order != UINT64_MAX && was_live(block, at.order)) return consider(block);
    if (address >= begin && address < end && block.allocated_at <= at.newest)
      freed = {Where::kFreed, &block, address - block.address};
  });
  if (is_inside) return {};
  return freed.block != nullptr && around.where != Where::kAcross ? freed : around;
}

} // namespace

HeapAt heap_at(const event::Fault& fault, const Heap& heap) {
  const bool is_earlier =
    fault.is_checked && fault.call != 0 && fault.fault != trace::FaultKind::kUseAfterFree;
  // A pool gives freed memory out again while the kernel still waits in its stream.
  const bool is_launch_known = fault.is_checked && fault.call != 0;
  return {heap, is_earlier ? fault.call : UINT64_MAX, is_launch_known ? fault.call : UINT64_MAX};
}

const Block* live_at(std::uint64_t address, const HeapAt& at) {
  const Block* live = at.heap.find_live(address);
  if (live != nullptr && live->allocated_at <= at.newest) return live;
  const Block* freed = at.heap.find_freed(address);
  return freed != nullptr && was_live(*freed, at.order) ? freed : nullptr;
}

bool is_live(std::uint64_t address, std::uint64_t bytes, const HeapAt& at) {
  const Block* block = live_at(address, at);
  if (block == nullptr || block->memory_kind == trace::MemoryKind::kVmmReservation) return false;
  if (block->bytes == 0) return true; // of unknown size
  const std::uint64_t offset = address - block->address;
  return offset <= block->bytes && bytes <= block->bytes - offset;
}

MemoryAround memory_around(std::uint64_t address, std::uint64_t bytes, const HeapAt& at,
                           Arguments arguments) {
  const Block* live = live_at(address, at);
  if (live != nullptr && has_addresses(*live)) {
    const bool inside = is_live(address, bytes, at);
    // Checks in kernels know regions of pools: what is wrong inside a live block is wrong with
    // these.
    const bool is_checked = at.newest != UINT64_MAX;
    const MemoryAround region =
      inside && is_checked ? region_around(address, bytes, at) : MemoryAround();
    if (region.block != nullptr) return region;
    return {inside ? Where::kInside : Where::kAcross, live, address - live->address};
  }
  if (const Block* freed = at.heap.find_freed(address); freed != nullptr)
    return {Where::kFreed, freed, address - freed->address};
  if (const Block* gone = at.heap.find_unregistered(address); gone != nullptr)
    return {Where::kFreed, gone, address - gone->address};
  return nearest(address, at, arguments);
}

MemoryAround memory_beside(const Block* meant, std::uint64_t address) {
  if (meant == nullptr) return {};
  const std::uint64_t end = meant->address + meant->bytes;
  if (address < meant->address) return {Where::kBefore, meant, meant->address - address};
  if (address >= end) return {Where::kBehind, meant, address - end};
  return {Where::kAcross, meant, address - meant->address};
}

Text describe(const MemoryAround& around, const TraceNames& names) {
  if (around.block == nullptr) return "in no memory that CUDA gave out";
  const Text block = describe_block(*around.block, names);
  const std::string distance = format_exact_bytes(around.distance);
  switch (around.where) {
  case Where::kInside:
    if (around.distance == 0) return {"the beginning of ", block};
    return {distance, " into ", block};
  case Where::kAcross: return {"across the end of ", block};
  case Where::kBehind:
    if (around.distance == 0) return {"right behind the end of ", block};
    return {distance, " past the end of ", block};
  case Where::kBefore: return {distance, " before the beginning of ", block};
  case Where::kFreed: {
    const bool ended = around.block->end == Block::End::kContextEnded;
    const std::string gone = ended
                               ? "ended with its context"
                               : cat({"was already ", released_word(around.block->memory_kind)});
    const std::string at = around.distance == 0 ? "at the beginning of" : cat({distance, " into"});
    return {at, " memory that ", gone, ": ", block};
  }
  case Where::kUnknown: break;
  }
  return "in no memory that CUDA gave out";
}

void add_stacks(std::vector<FindingStack>& stacks, const MemoryAround& around,
                const TraceNames& names) {
  if (around.block == nullptr) return;
  const Block& block = *around.block;
  if (around.where == Where::kFreed && !is_tensor(block)) { // whose end has no call stack
    const bool ended = block.end == Block::End::kContextEnded;
    stacks.push_back(stack_as(ended ? StackRole::kContextEnded : release_role(block.memory_kind),
                              block.freed, names.api_name(block.freed_api)));
  }
  stacks.push_back(allocation_stack(block, names));
}

} // namespace gmt
