// SPDX-License-Identifier: Apache-2.0
// Ranges that begin in no memory at all, but just before a block or just behind one: whose block was meant. Asked only
// about calls that nothing else explains.
//
// What begins before a block must reach into it. What begins behind one lies in the same page, which only the driver
// gives out, or exactly at the end: that is the pointer which an index one too large makes. Host memory may lie on
// both sides of a registered block, and on the pages around pinned ones, so less is taken for granted there.

#include <algorithm>

#include "analyzer/heap/heap_state.h"

namespace gmt {
namespace {

using trace::Family;

// Of device memory, as the driver maps it (measured: blocks are carved out of 2 MiB), and of the host's.
constexpr std::uint64_t kDevicePage = 2 << 20, kHostPage = 4096;

bool is_of_host(Family family) {
  return family == Family::kPinned || family == Family::kManaged || family == Family::kManagedVariable ||
         family == Family::kRegistered;
}

std::uint64_t page_of(const Block& block) { return is_of_host(block.family) ? kHostPage : kDevicePage; }

bool is_just_before(const Block& block, std::uint64_t distance) {
  const std::uint64_t most =
    is_of_host(block.family) ? kHostPage : std::max<std::uint64_t>(kDevicePage, block.bytes);
  return distance <= most;
}

bool is_just_behind(const Block& block, std::uint64_t end, std::uint64_t address) {
  if (block.bytes == 0) return false; // size unknown
  const std::uint64_t page = page_of(block);
  if (address == end) return block.family != Family::kPinned || end % page != 0;
  return address / page == (end - 1) / page;
}

} // namespace

// Sides that are declared the device's first: what is wrong with a host's range is seldom its place.
void Heap::State::judge_strays(const Event& e) {
  if (e.kind == trace::Kind::kSet) {
    judge_stray(e, trace::SetView(e).destination(), set_extent(e), Side::kDestination, trace::Side::kDevice);
    return;
  }
  for (const bool of_host : {false, true}) {
    for (const Side side : {Side::kDestination, Side::kSource}) {
      const trace::Side declared = declared_side(e, side);
      if (declared == trace::Side::kArray || (declared == trace::Side::kHost) != of_host) continue;
      judge_stray(e, address_of(e, side), copy_extent(e, side), side, declared);
    }
    if (judged != 0) return;
  }
}

bool Heap::State::judge_stray(const Event& e, std::uint64_t address, std::uint64_t bytes, Side side,
                              trace::Side declared) {
  if (address == 0 || bytes == 0 || is_dead(e.context) || is_sticky(e.result)) return false;
  if (store.find(Space::kAddress, address) || store.find(Space::kRegistered, address)) return false;
  if (store.find_dead(Space::kAddress, address) != nullptr) return false;
  const Block* found = nullptr;
  std::uint64_t nearest = UINT64_MAX;
  bool is_before = false;
  const auto consider = [&](const Block& block, std::uint64_t distance, bool before) {
    // Work that was only written down has not been refused: it must reach into a block that is the device's alone.
    if (e.succeeded() && (is_of_host(block.family) || !before)) return;
    if (distance >= nearest) return;
    found = &block;
    nearest = distance;
    is_before = before;
  };
  for (const Space space : {Space::kAddress, Space::kRegistered}) {
    const bool registered = space == Space::kRegistered;
    // Before and behind a registered block is ordinary memory: to a device's side a host pointer like any other.
    if (registered && declared == trace::Side::kDevice) continue;
    const LiveIndex::Ranges& live = store.ordered(space);
    if (const auto behind = live.last_beginning_by(address); behind && !registered) {
      const Block& block = store[behind.value];
      if (is_just_behind(block, behind.end, address)) consider(block, address - behind.end, false);
    }
    if (const auto next = live.first_ending_after(address); next && next.begin - address < bytes) {
      const Block& block = store[next.value];
      if (is_just_before(block, next.begin - address)) consider(block, next.begin - address, true);
    }
  }
  if (found == nullptr) return false;
  const std::uint64_t last = address > UINT64_MAX - bytes ? UINT64_MAX : address + bytes;
  const std::uint64_t end = BlockStore::end_of(*found);
  const std::uint64_t in_block = is_before ? std::min(last, end) - found->address : 0;
  add({.verdict = Verdict::kOutOfBounds,
       .side = side,
       .block = found,
       .offset = is_before ? 0 : address - found->address,
       .bytes_past = bytes - in_block,
       .bytes_before = is_before ? nearest : 0,
       .range_begin = address,
       .range_bytes = bytes});
  return true;
}

} // namespace gmt
