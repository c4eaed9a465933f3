// SPDX-License-Identifier: Apache-2.0
// Liveness of virtual registers, and slots for them: registers that never live at the same time
// share one, if they have the same width: lanes that went different ways may hold different ones of
// them, so each lane must lie at the same bytes for all. A slot has 32 lanes. There are four files
// of slots, by the size of what they hold. A write under a guard keeps the old value where the
// guard is false: it does not end the life of what was there before. Liveness is that of one lane:
// lanes never read slots of other lanes but in instructions (shfl) that all of them execute.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ptx/flow/flow.h"
#include "ptx/syntax/ptx.h"

namespace gmt::executor {

enum class SlotFile : std::uint8_t { kPredicate, k32, k64, k128 }; // 8 and 16 bits lie in k32

struct Slot {
  SlotFile file = SlotFile::k32;
  std::uint32_t index = ptx::kNone; // kNone: no code reads or writes the register
};

// Points of time: instruction i reads at 2i and writes at 2i + 1, but keeps what it reads until
// then: no result lies where a source of the same instruction does.
struct Interval {
  std::uint32_t begin = ptx::kNone;
  std::uint32_t end = 0;
  bool empty() const { return begin == ptx::kNone; }
  void cover(std::uint32_t first, std::uint32_t last) {
    begin = std::min(begin, first);
    end = std::max(end, last);
  }
  bool holds_before(std::uint32_t instruction) const { // a value that may be read there or later
    return begin <= 2 * instruction && 2 * instruction <= end;
  }
};

struct Slots {
  std::vector<Slot> of;                  // for each of Body::registers
  std::vector<Interval> lives;           // likewise
  std::uint32_t count[4] = {0, 0, 0, 0}; // for each SlotFile
};

SlotFile file_of(ptx::Type type);
Slots allocate_slots(const ptx::Body& body, const ptx::Flow& flow);

} // namespace gmt::executor
