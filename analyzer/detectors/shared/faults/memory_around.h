// SPDX-License-Identifier: Apache-2.0
// What lies at an address that a kernel used, or next to it: "76 bytes past the end of 3.9 KiB of
// device memory allocated by cudaMalloc". Walks all live blocks: for findings alone.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/detectors/process_facts.h"
#include "analyzer/heap/heap.h"
#include "analyzer/model/finding.h"

namespace gmt {

struct MemoryAround {
  enum class Where : std::uint8_t {
    kInside,  // all of the access lies in a live block
    kAcross,  // it begins in a live block and ends behind it
    kBehind,  // behind a live block
    kBefore,  // before a live block
    kFreed,   // in a block that was freed
    kUnknown, // in no memory that CUDA gave out, nor close to any
  };
  Where where = Where::kUnknown;
  const Block* block = nullptr; // null if unknown
  std::uint64_t distance = 0;   // kBehind, kBefore: bytes between; kAcross, kFreed: from its begin
};

// Lies next to a block if it is no farther than this, or than the block's own size.
inline constexpr std::uint64_t kFarthestNeighbour = 16 << 20;

// The heap as it is now, or as it was at an earlier order: what was freed behind it counts as live.
struct HeapAt {
  const Heap& heap;
  std::uint64_t order = UINT64_MAX;
  std::uint64_t newest = UINT64_MAX; // what was allocated behind it is not there
};
// As it was when the kernel met it: what a check found may be fetched by the call that frees.
HeapAt heap_at(const event::Fault& fault, const Heap& heap);

// `arguments` are those of the launch, as far as they are known: an address between two blocks
// belongs rather to the one that the kernel was given.
MemoryAround memory_around(std::uint64_t address, std::uint64_t bytes, const HeapAt& at,
                           Arguments arguments = {});
// The same, of one block that was meant, whatever else lies at the address. Null: nothing is known.
MemoryAround memory_beside(const Block* meant, std::uint64_t address);
// The block that contains the address; null if none does.
const Block* live_at(std::uint64_t address, const HeapAt& at);
// Whether CUDA gave out the memory of the access, so that it is no mistake.
bool is_live(std::uint64_t address, std::uint64_t bytes, const HeapAt& at);

// "76 bytes past the end of ...", "inside memory that was already freed: ...", "in no memory that
// CUDA gave out".
Text describe(const MemoryAround& around, const TraceNames& names);
// The block's release and allocation.
void add_stacks(std::vector<FindingStack>& stacks, const MemoryAround& around,
                const TraceNames& names);

} // namespace gmt
