// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/closed_mappings.h"

#include "analyzer/detectors/shared/descriptions.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

// A mapping in the range to which no device was ever given access.
const Block* closed_in(const Heap& heap, std::uint64_t begin, std::uint64_t bytes) {
  for (std::uint64_t at = begin; at - begin < bytes;) {
    const Block* block = heap.find_live(at);
    if (block == nullptr || block->memory_kind != trace::MemoryKind::kVmmMapping) return nullptr;
    if ((block->flags & kHadAccess) == 0) return block;
    if (block->bytes == 0) return nullptr; // size unknown
    at = block->address + block->bytes;
  }
  return nullptr;
}

} // namespace

std::optional<ClosedMapping> closed_mapping_of(const Event& e, const Heap& heap,
                                               const ProcessFacts& facts) {
  using Side = Verdict::Side;
  const bool copy = e.kind == EventKind::kCopy;
  if (e.result != cuda::CUDA_ERROR_INVALID_VALUE && e.result != cuda::CUDA_ERROR_ILLEGAL_ADDRESS)
    return std::nullopt;
  if (!copy && e.kind != EventKind::kSet) return std::nullopt;
  if (!facts.records_access() || facts.lost_so_far() != 0) return std::nullopt;
  const Block* to = closed_in(heap, address_of(e, Side::kDestination),
                              copy ? copy_extent(e, Side::kDestination) : set_extent(e));
  if (to != nullptr) return ClosedMapping{to, copy ? "destination" : "target"};
  const Block* from =
    copy ? closed_in(heap, address_of(e, Side::kSource), copy_extent(e, Side::kSource)) : nullptr;
  if (from != nullptr) return ClosedMapping{from, "source"};
  return std::nullopt;
}

void add_closed_mapping(const ClosedMapping& closed, const ProcessFacts& facts, Finding& f) {
  f.message += {": its ", closed.side, " is ", describe_block(*closed.block, facts),
                ", to which no device was given access"};
  f.advice =
    "After cuMemMap, give each device that uses the mapping access to it with cuMemSetAccess.";
  f.stacks.push_back(allocation_stack(*closed.block, facts));
}

} // namespace gmt
