// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/verdicts/pointer_readings.h"

namespace gmt {

// The live block that ends at the address, if a word of the same arguments points into it.
bool PointerReadings::read_as_end(Verdict& verdict, Arguments all) const {
  const std::uint64_t address = verdict.range_begin;
  for (const Space space : {Space::kSubAllocation, Space::kAddress, Space::kRegistered}) {
    if (space == Space::kSubAllocation && !user_pools_.has_regions()) continue;
    const BlockStore::Id id = store_.find_id(space, address - 1);
    if (id == BlockStore::kNone || store_[id].bytes == 0 ||
        BlockStore::end_of(store_[id]) != address)
      continue;
    const Block& block = store_[id];
    for (const Argument word : all) {
      if (word.address() - block.address >= block.bytes) continue;
      verdict.reading = Verdict::Reading::kEnd;
      verdict.neighbour = &block;
      verdict.neighbour_parameter = static_cast<std::uint8_t>(word.parameter());
      return true;
    }
  }
  return false;
}

// Somewhere inside a freed block, an end is nothing else: a live block has taken the memory before
// it.
bool PointerReadings::is_mistake(Verdict& verdict, std::uint64_t function, Arguments all,
                                 CallVerdicts& verdicts) const {
  if (read_as_end(verdict, all)) {
    if (verdict.offset != 0) verdicts.add_end(function, verdict.parameter);
    return verdict.offset == 0;
  }
  verdict.neighbour = live_just_behind(verdict.range_begin);
  if (verdict.neighbour != nullptr) verdict.reading = Verdict::Reading::kBefore;
  return true;
}

void PointerReadings::note_end(std::uint64_t function, Arguments all, Argument word,
                               CallVerdicts& verdicts) const {
  const unsigned parameter = word.parameter();
  Verdict verdict{.range_begin = word.address()};
  if (parameter < kNoParameter && read_as_end(verdict, all)) verdicts.add_end(function, parameter);
}

const Block* PointerReadings::live_just_behind(std::uint64_t address) const {
  for (const Space space : {Space::kSubAllocation, Space::kAddress, Space::kRegistered}) {
    if (space == Space::kSubAllocation && !user_pools_.has_regions()) continue;
    const LiveIndex::Ranges& live = store_.ordered(space);
    auto next = live.first_ending_after(address);
    if (next && next.begin <= address)
      next = live.first_ending_after(next.end); // that one contains it
    if (next && next.begin > address && next.begin - address <= kLargestElement)
      return &store_[next.value];
  }
  return nullptr;
}

} // namespace gmt
