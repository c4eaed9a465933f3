// SPDX-License-Identifier: Apache-2.0
// Where a function's registers lie in its frame: the files of slots one behind the other, then what
// single instructions need. Lanes of 8 and 16 bits lie closer together than those of 32: in a slot
// that they shared with these, one lane would overwrite another that has gone another way. So such
// registers have places of their own.
#pragma once

#include "simulated_cuda/executor/program/slots.h"

#include <cstdint>

namespace gmt::executor {

struct FrameLayout {
  FrameLayout() = default;
  FrameLayout(const ptx::Body& body, const Slots& slots);

  // Of a register that has a slot. A predicate has 0 bytes: a bit for each lane.
  std::uint32_t offset_of(Slot slot, std::uint32_t bytes_of_lane) const;

  std::uint32_t files[4] = {0, 0, 0, 0}; // by SlotFile
  std::uint32_t bytes = 0, halves = 0;   // of 8 and of 16 bits
  std::uint32_t carry = 0;               // its predicate
  std::uint32_t temporaries = 0;         // behind all of them
  bool has_stack = false;
};

} // namespace gmt::executor
