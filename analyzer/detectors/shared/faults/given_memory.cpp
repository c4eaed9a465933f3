// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/faults/given_memory.h"

#include <algorithm>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

constexpr std::size_t kMostBlocks = 3; // that are shown

void add_once(std::vector<const Block*>& blocks, const Block* block) {
  if (std::ranges::find(blocks, block) == blocks.end()) blocks.push_back(block);
}

} // namespace

GivenMemory memory_at(std::span<const std::uint64_t> addresses, const HeapAt& at) {
  GivenMemory given;
  for (const std::uint64_t address : addresses) {
    if (const Block* block = live_at(address, at)) add_once(given.live, block);
    else if (const Block* gone = at.heap.find_freed(address)) add_once(given.freed, gone);
  }
  return given;
}

Text given_words(const GivenMemory& given, std::string_view owner, const TraceNames& names) {
  const auto& [live, freed] = given;
  const std::string_view was = owner.ends_with('s') ? " were" : " was";
  Text words;
  if (live.size() == 1) {
    words += {"; the only ", freed.empty() ? "" : "live ",        "memory that ", owner, was,
              " given is ",  describe_block(*live.front(), names)};
  } else if (!live.empty()) {
    words += cat({"; ", owner, was, " given ", std::to_string(live.size()),
                  " blocks of memory and may have left any of them"});
  }
  if (freed.size() == 1) {
    words +=
      {cat({"; ", owner, was, " given a pointer into memory that was already "}),
       released_word(freed.front()->memory_kind), ": ", describe_block(*freed.front(), names)};
  } else if (!freed.empty()) {
    words += cat({"; ", owner, was, " given pointers into ", std::to_string(freed.size()),
                  " blocks that were already freed"});
  }
  return words;
}

void add_stacks(std::vector<FindingStack>& stacks, const GivenMemory& given,
                const TraceNames& names) {
  for (std::size_t i = 0; i < std::min(given.freed.size(), kMostBlocks); ++i)
    add_stacks(stacks, {MemoryAround::Where::kFreed, given.freed[i]}, names);
  for (std::size_t i = 0; i < std::min(given.live.size(), kMostBlocks); ++i)
    stacks.push_back(allocation_stack(*given.live[i], names));
}

} // namespace gmt
