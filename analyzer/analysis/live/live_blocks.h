// SPDX-License-Identifier: Apache-2.0
// Memory that is alive while its process runs, by call stack and kind.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/detectors/process_facts.h"
#include "analyzer/heap/block.h"
#include "analyzer/heap/heap.h"
#include "analyzer/model/finding.h"

namespace gmt {

struct LiveBlocks {
  Block example;   // the oldest
  int device = -1; // -1: the host's, or not known
  std::uint64_t bytes = 0, blocks = 0;
};

// Those that the filter takes, in the order of their oldest blocks: what is alive, and what its
// context's end took with it. Blocks of a context that died of an error are left out, because
// nothing can free them.
std::vector<LiveBlocks> live_blocks(const Heap& heap,
                                    const std::function<bool(const Block&)>& filter);

// The same of tensors, which lie inside of blocks.
std::vector<LiveBlocks> live_tensors(const Heap& heap,
                                     const std::function<bool(const Block&)>& filter);

// A finding of kind leak, as it stands before the end of the process.
Finding unfreed(const LiveBlocks& blocks, const ProcessFacts& facts);

} // namespace gmt
