// SPDX-License-Identifier: Apache-2.0
// The memory that launches were given pointers into, in words and stacks: where the address of a
// kernel's fault is not known, it may have left any of these blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/detectors/shared/faults/memory_around.h"
#include "analyzer/model/finding.h"

namespace gmt {

struct GivenMemory {
  std::vector<const Block*> live, freed;
};

GivenMemory memory_at(std::span<const std::uint64_t> addresses, const HeapAt& at);

// "; the only memory that its launch was given is 3.9 KiB of ...", "; its launch was given 3 blocks
// of memory and may have left any of them"; then what was freed. `owner` is "its launch" or "their
// launches". Empty if no memory is known.
Text given_words(const GivenMemory& given, std::string_view owner, const TraceNames& names);
// Of the first few blocks: releases and allocations of freed ones, allocations of live ones.
void add_stacks(std::vector<FindingStack>& stacks, const GivenMemory& given,
                const TraceNames& names);

} // namespace gmt
