// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/verdicts/pool_verdicts.h"

#include <algorithm>

namespace gmt {

bool PoolVerdicts::is_one_tensor(const BlockStore::Range& backing) const {
  const BlockStore::Range region = store_.find(Space::kSubAllocation, backing.begin);
  return region && region.begin == backing.begin && region.end == backing.end &&
         is_tensor(store_[region.value]);
}

// The words of a structure that a tensor library passes are often what its stack had before: a
// table of tensors that is full in part. A word that is all of a parameter is meant, unless it is
// the end of a live tensor that another word points into.
bool PoolVerdicts::may_name_dead_tensor(const Use& use) const {
  if (use.arguments.empty()) return true; // a copy or set
  const auto words = std::ranges::count_if(use.arguments, [&use](Argument word) {
    return !word.is_unused() && word.parameter() == use.parameter; // records have room left over
  });
  if (words != 1 || use.parameter >= kNoParameter) return false;
  const auto before = store_.find(Space::kSubAllocation, use.range.address - 1);
  return !before || std::ranges::none_of(use.arguments, [&before](Argument word) {
    return word.address() >= before.begin && word.address() < before.end;
  });
}

// A call on the whole block, or the whole pool, is the pool's own.
PoolVerdicts::Answer PoolVerdicts::check_use(const Event& e, const BlockStore::Range& backing,
                                             const Use& use, CallVerdicts& verdicts) const {
  if (is_sticky(e.result)) return {};
  const std::uint64_t address = use.range.address, bytes = use.range.bytes;
  const UserPool* pool = pools_.find_at(address);
  const bool is_whole = address == backing.begin && bytes >= backing.end - backing.begin;
  if (is_whole && !is_one_tensor(backing)) return {};
  if (pool != nullptr && address == pool->begin && bytes >= pool->bytes) return {};
  // Of tensors that graphs make, the allocator does not say all: see on_captured().
  const bool are_tensors_known = !store_.use().tensors().any_captured();
  if (const auto region = store_.find(Space::kSubAllocation, address)) {
    if (!are_tensors_known && is_tensor(store_[region.value])) return {.region = region.value};
    bounds_.check_end(e, region, use.range, verdicts);
    return {.is_of_region = true, .region = region.value};
  }
  const bool is_launch = !use.arguments.empty();
  const Block* dead = store_.find_dead(Space::kSubAllocation, address);
  const bool is_dead_tensor = dead != nullptr && is_tensor(*dead);
  const bool is_followed =
    is_dead_tensor ? are_tensors_known && may_name_dead_tensor(use) : pool != nullptr;
  if (!is_followed) dead = nullptr;
  // Of another block at this address, if it ended before this one was allocated.
  const bool is_freed = dead != nullptr && dead->end == Block::End::kFreed &&
                        dead->freed_at >= store_[backing.value].allocated_at;
  if (!is_freed) {
    if (pool != nullptr && is_launch && e.succeeded()) {
      readings_.note_end(e.launch().function, use.arguments, Argument(address, use.parameter),
                         verdicts);
    }
    return {};
  }
  Verdict verdict{.kind = Verdict::Kind::kUseAfterFree,
                  .side = use.range.side,
                  .parameter = static_cast<std::uint8_t>(use.parameter),
                  .block = dead,
                  .offset = address - dead->address,
                  .range_begin = address,
                  .range_bytes = bytes};
  if (!is_launch || is_dead_tensor ||
      readings_.is_mistake(verdict, e.launch().function, use.arguments, verdicts)) {
    verdicts.add(verdict);
  }
  return {.is_of_region = true};
}

// What was registered before the trace began is unknown.
void PoolVerdicts::check_release(const Event& e, CallVerdicts& verdicts) const {
  const std::uint64_t address = e.free().address;
  Verdict::Kind verdict = Verdict::Kind::kUnseenAllocation;
  const Block* block = nullptr;
  if (const auto range = store_.find(Space::kSubAllocation, address)) {
    verdict = Verdict::Kind::kInvalidFreeInside;
    block = &store_[range.value];
  } else if (const Block* dead = store_.find_dead(Space::kSubAllocation, address);
             dead != nullptr && dead->address == address) {
    verdict = dead->end == Block::End::kContextEnded ? Verdict::Kind::kInvalidFreeEnded
                                                     : Verdict::Kind::kDoubleFree;
    block = dead;
  }
  verdicts.add({.kind = verdict,
                .block = block,
                .offset = block != nullptr ? address - block->address : 0,
                .range_begin = address});
}

} // namespace gmt
