// SPDX-License-Identifier: Apache-2.0
//
// What begins before a block must reach into it. What begins behind one lies in the same page,
// which only the driver gives out, or exactly at the end: that is the pointer which an index one
// too large makes. Host memory may lie on both sides of a registered block, and on the pages around
// pinned ones, so less is taken for granted there.

#include "analyzer/heap/verdicts/bounds.h"

#include <algorithm>

namespace gmt {
namespace {

using trace::MemoryKind;

// Of device memory, as the driver maps it (measured: blocks are carved out of 2 MiB), and of the
// host's.
constexpr std::uint64_t kDevicePage = 2 << 20, kHostPage = 4096;

bool is_of_host(MemoryKind memory_kind) {
  return memory_kind == MemoryKind::kPinned || memory_kind == MemoryKind::kManaged ||
         memory_kind == MemoryKind::kManagedVariable || memory_kind == MemoryKind::kRegistered;
}

std::uint64_t page_of(const Block& block) {
  return is_of_host(block.memory_kind) ? kHostPage : kDevicePage;
}

bool is_just_before(const Block& block, std::uint64_t distance) {
  const std::uint64_t most =
    is_of_host(block.memory_kind) ? kHostPage : std::max<std::uint64_t>(kDevicePage, block.bytes);
  return distance <= most;
}

bool is_just_behind(const Block& block, std::uint64_t end, std::uint64_t address) {
  if (block.bytes == 0) return false; // size unknown
  const std::uint64_t page = page_of(block);
  if (address == end) return block.memory_kind != MemoryKind::kPinned || end % page != 0;
  return address / page == (end - 1) / page;
}

// Behind the last 512 bytes that the block begins lie 512 more.
bool is_poison(const Block& block, std::uint64_t end, std::uint64_t address) {
  constexpr std::uint64_t kGranule = 512;
  if (block.memory_kind != MemoryKind::kDevice && block.memory_kind != MemoryKind::kPitched)
    return false;
  return block.bytes != 0 && address < (end + kGranule - 1) / kGranule * kGranule + kGranule;
}

std::uint64_t end_of(const NamedRange& range) {
  return range.address > UINT64_MAX - range.bytes ? UINT64_MAX : range.address + range.bytes;
}

} // namespace

void Bounds::check_end(const Event& e, const BlockStore::Range& range, const NamedRange& named,
                       CallVerdicts& verdicts) const {
  if (named.bytes <= range.end - named.address || is_sticky(e.result)) return;
  const Block& block = store_[range.value];
  if (block.bytes == 0) return; // size unknown
  const std::uint64_t last = end_of(named);
  std::uint64_t end = range.end;
  // Mappings and registered ranges that lie side by side are one piece of memory.
  if (block.memory_kind == MemoryKind::kVmmMapping ||
      block.memory_kind == MemoryKind::kRegistered) {
    const auto& live = store_.ordered(space_of(block.memory_kind));
    for (auto next = live.find_exact(end); next && end < last; next = live.find_exact(end)) {
      if (store_[next.value].memory_kind != block.memory_kind) break;
      end = next.end;
    }
  }
  if (end >= last) return;
  verdicts.add({.kind = Verdict::Kind::kOutOfBounds,
                .side = named.side,
                .block = &block,
                .offset = named.address - block.address,
                .bytes_past = last - end,
                .range_begin = named.address,
                .range_bytes = named.bytes});
}

// Sides that are declared the device's first: what is wrong with a host's range is seldom its
// address.
void Bounds::check_strays(const Event& e, CallVerdicts& verdicts) const {
  if (e.kind == EventKind::kSet) {
    return check_stray(
      e, {e.set().destination, set_extent(e), Side::kDestination, trace::Side::kDevice}, verdicts);
  }
  for (const bool of_host : {false, true}) {
    for (const Side side : {Side::kDestination, Side::kSource}) {
      const trace::Side declared = declared_side(e, side);
      if (declared == trace::Side::kArray || (declared == trace::Side::kHost) != of_host) continue;
      check_stray(e, {address_of(e, side), copy_extent(e, side), side, declared}, verdicts);
    }
    if (!verdicts.empty()) return;
  }
}

Bounds::Neighbour Bounds::neighbour_of(const Event& e, const NamedRange& range) const {
  Neighbour nearest;
  const auto consider = [&](const Block& block, std::uint64_t distance, bool is_before) {
    // Work that was only written down has not been refused: it must reach into a block that is the
    // device's alone.
    if (e.succeeded() && (is_of_host(block.memory_kind) || !is_before)) return;
    if (distance < nearest.distance) nearest = {&block, distance, is_before};
  };
  for (const Space space : {Space::kAddress, Space::kRegistered}) {
    const bool registered = space == Space::kRegistered;
    // Before and behind a registered block is ordinary memory: to a device's side a host pointer
    // like any other.
    if (registered && range.declared == trace::Side::kDevice) continue;
    const LiveIndex::Ranges& live = store_.ordered(space);
    if (const auto behind = live.last_beginning_by(range.address); behind && !registered) {
      const Block& block = store_[behind.value];
      if (is_just_behind(block, behind.end, range.address))
        consider(block, range.address - behind.end, false);
    }
    if (const auto next = live.first_ending_after(range.address);
        next && next.begin - range.address < range.bytes) {
      const Block& block = store_[next.value];
      if (is_just_before(block, next.begin - range.address))
        consider(block, next.begin - range.address, true);
    }
  }
  return nearest;
}

void Bounds::check_stray(const Event& e, const NamedRange& range, CallVerdicts& verdicts) const {
  if (range.address == 0 || range.bytes == 0 || contexts_.is_dead(e.context) || is_sticky(e.result))
    return;
  if (store_.find(Space::kAddress, range.address) || store_.find(Space::kRegistered, range.address))
    return;
  if (store_.find_dead(Space::kAddress, range.address) != nullptr) return;
  const auto [found, distance, is_before] = neighbour_of(e, range);
  if (found == nullptr) return;
  const std::uint64_t in_block =
    is_before ? std::min(end_of(range), BlockStore::end_of(*found)) - found->address : 0;
  verdicts.add({.kind = Verdict::Kind::kOutOfBounds,
                .side = range.side,
                .block = found,
                .offset = is_before ? 0 : range.address - found->address,
                .bytes_past = range.bytes - in_block,
                .bytes_before = is_before ? distance : 0,
                .range_begin = range.address,
                .range_bytes = range.bytes});
}

void Bounds::check_poison(const Event& e, CallVerdicts& verdicts) const {
  const auto check = [&](const NamedRange& range) {
    if (range.bytes == 0 || store_.find(Space::kAddress, range.address)) return;
    const auto before = store_.ordered(Space::kAddress).last_beginning_by(range.address);
    if (!before || !is_poison(store_[before.value], before.end, range.address)) return;
    const Block& block = store_[before.value];
    verdicts.add({.kind = Verdict::Kind::kOutOfBounds,
                  .side = range.side,
                  .block = &block,
                  .offset = range.address - block.address,
                  .bytes_past = range.bytes,
                  .range_begin = range.address,
                  .range_bytes = range.bytes});
  };
  if (e.kind == EventKind::kSet)
    return check({e.set().destination, set_extent(e), Side::kDestination, trace::Side::kDevice});
  for (const Side side : {Side::kDestination, Side::kSource}) {
    const trace::Side declared = declared_side(e, side);
    if (declared == trace::Side::kArray || declared == trace::Side::kHost) continue;
    check({address_of(e, side), copy_extent(e, side), side, declared});
  }
}

} // namespace gmt
