// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/verdicts/range_verdicts.h"

#include <optional>

namespace gmt {

using trace::MemoryKind;

NamedMemory RangeVerdicts::check_copy_side(const Event& e, Side side,
                                           CallVerdicts& verdicts) const {
  const trace::Side declared = declared_side(e, side);
  const std::uint64_t address = address_of(e, side), bytes = e.copy().bytes;
  if (declared != trace::Side::kArray)
    return check_range(e, {address, copy_extent(e, side), side, declared}, verdicts);
  const Id id = arrays_.find(address);
  if (id == kNone) arrays_.check_freed(e, address, bytes, side, verdicts);
  else arrays_.check_side(e, side, verdicts);
  return {.block = id, .address = address, .bytes = bytes};
}

NamedMemory RangeVerdicts::check_set(const Event& e, CallVerdicts& verdicts) const {
  return check_range(
    e, {e.set().destination, set_extent(e), Side::kDestination, trace::Side::kDevice}, verdicts);
}

NamedMemory RangeVerdicts::check_use(const Event& e, CallVerdicts& verdicts) const {
  const event::Use& view = e.use();
  NamedMemory named{.address = view.address, .bytes = view.bytes};
  const trace::UseClass use = view.use;
  if (contexts_.is_dead(e.context) || is_sticky(e.result) || named.address == 0) return named;
  named.block = arrays_.find(named.address);
  if (named.block != kNone) return named;
  const bool could_be_array = use == trace::UseClass::kTexture || use == trace::UseClass::kSurface;
  if (could_be_array && named.bytes == 0 &&
      arrays_.check_freed(e, named.address, 0, Side::kNone, verdicts)) {
    return named;
  }
  for (const Space space : {Space::kAddress, Space::kRegistered}) {
    named.block = store_.find_id(space, named.address);
    if (named.block != kNone) return named;
  }
  const bool is_reserved = store_.find_id(Space::kReservation, named.address) != kNone;
  if (!is_reserved) check_freed(e, {.address = named.address, .bytes = named.bytes}, verdicts);
  return named;
}

NamedMemory RangeVerdicts::check_range(const Event& e, const NamedRange& range,
                                       CallVerdicts& verdicts) const {
  NamedMemory named{.address = range.address, .bytes = range.bytes};
  if (range.address == 0 || range.bytes == 0 || contexts_.is_dead(e.context)) return named;
  if (const auto block = store_.find(Space::kAddress, range.address)) {
    named.block = block.value;
    PoolVerdicts::Answer answer;
    if (user_pools_.has_regions()) answer = pools_.check_use(e, block, {.range = range}, verdicts);
    named.region = answer.region;
    if (!answer.is_of_region && range.bytes > block.end - range.address)
      bounds_.check_end(e, block, range, verdicts);
    return named;
  }
  if (const auto block = store_.find(Space::kRegistered, range.address)) {
    named.block = block.value;
    // The host memory behind a registered range may well go on: only a refusal makes it a mistake.
    if (!e.succeeded()) bounds_.check_end(e, block, range, verdicts);
    return named;
  }
  check_freed(e, range, verdicts);
  return named;
}

void RangeVerdicts::check_freed(const Event& e, const NamedRange& range,
                                CallVerdicts& verdicts) const {
  const bool could_be_host = range.declared == trace::Side::kHost;
  if (is_sticky(e.result) || (could_be_host && e.succeeded())) return;
  const Block* dead = store_.find_dead(Space::kAddress, range.address);
  if (dead == nullptr) return;
  if (range.declared != trace::Side::kDevice && host_memory_.contains(range.address)) return;
  const Block& block = *dead;
  // A graph's memory comes back at every launch, static memory with its module.
  if (block.memory_kind == MemoryKind::kGraph || is_static(block.memory_kind)) return;
  const bool is_of_host_too =
    block.memory_kind == MemoryKind::kPinned || block.memory_kind == MemoryKind::kManaged;
  if (is_of_host_too && e.succeeded()) return;
  verdicts.add({.kind = Verdict::Kind::kUseAfterFree,
                .side = range.side,
                .block = &block,
                .offset = range.address - block.address,
                .range_begin = range.address,
                .range_bytes = range.bytes});
}

void RangeVerdicts::check_node(const Event& e, CallVerdicts& verdicts) const {
  if (e.from_runtime || contexts_.is_dead(e.context) || e.use().is_of_recorded_copy) return;
  if (const std::optional<Event> work = work_of_node(e)) {
    check_node_side(*work, Side::kDestination, verdicts);
    if (work->kind == EventKind::kCopy) check_node_side(*work, Side::kSource, verdicts);
    return;
  }
  const event::Use& use = e.use();
  if (use.address == 0) return;
  const auto block = store_.find(Space::kAddress, use.address);
  if (!block) return;
  const bool reads = e.use().reads;
  const Side side = reads ? Side::kSource : Side::kDestination;
  bounds_.check_end(e, block, {.address = use.address, .bytes = use.bytes, .side = side}, verdicts);
}

void RangeVerdicts::check_node_side(const Event& work, Side side, CallVerdicts& verdicts) const {
  const bool copies = work.kind == EventKind::kCopy;
  const trace::Side declared = copies ? declared_side(work, side) : trace::Side::kDevice;
  if (declared == trace::Side::kArray) return arrays_.check_side(work, side, verdicts);
  const std::uint64_t bytes = copies ? copy_extent(work, side) : set_extent(work);
  const NamedRange range{address_of(work, side), bytes, side, declared};
  if (range.address == 0 || bytes == 0) return;
  if (const auto block = store_.find(Space::kAddress, range.address)) {
    bounds_.check_end(work, block, range, verdicts);
  } else { // not freed memory: that is checked when the graph is launched
    bounds_.check_stray(work, range, verdicts);
  }
}

} // namespace gmt
