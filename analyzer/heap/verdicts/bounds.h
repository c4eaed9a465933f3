// SPDX-License-Identifier: Apache-2.0
// Ranges that leave their memory: those that end behind their block, and those that begin in no
// memory at all, but just before a block or just behind one.
#pragma once

#include <cstdint>

#include "analyzer/cuda_state/contexts.h"
#include "analyzer/heap/memory_kinds.h"
#include "analyzer/heap/store/block_store.h"

namespace gmt {

// What one side of a copy, set or use names.
struct NamedRange {
  std::uint64_t address = 0, bytes = 0;
  Verdict::Side side = Verdict::Side::kNone;
  trace::Side declared = trace::Side::kUnified; // by the call
};

class Bounds {
public:
  using Side = Verdict::Side;

  Bounds(const BlockStore& store, const ContextTable& contexts)
      : store_(store), contexts_(contexts) {}

  // A range that begins in the live block and may end behind it.
  void check_end(const Event& e, const BlockStore::Range& block, const NamedRange& range,
                 CallVerdicts& verdicts) const;
  // The sides of a copy or set that nothing else explains: whose block was meant.
  void check_strays(const Event& e, CallVerdicts& verdicts) const;
  void check_stray(const Event& e, const NamedRange& range, CallVerdicts& verdicts) const;
  // The sides of a copy or set that begin in the poison behind a block of device memory.
  void check_poison(const Event& e, CallVerdicts& verdicts) const;

private:
  struct Neighbour {
    const Block* block = nullptr;
    std::uint64_t distance = UINT64_MAX;
    bool is_before = false; // the range begins before it
  };
  Neighbour neighbour_of(const Event& e, const NamedRange& range) const;

  const BlockStore& store_;
  const ContextTable& contexts_;
};

} // namespace gmt
