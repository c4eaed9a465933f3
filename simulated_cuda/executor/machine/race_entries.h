// SPDX-License-Identifier: Apache-2.0
// What an entry of a table of races says (race_tables.h): whose access it was, when, by which
// instruction, and whether another one is ordered behind it.
#pragma once

#include "simulated_cuda/executor/machine/access.h"

namespace gmt::executor {

struct EarlierLaunch;

// What is known of an entry: nothing, if it is of an earlier launch, but of those that may still
// run (earlier_launches.h).
struct Earlier {
  bool is_of_launch = false;
  const EarlierLaunch* earlier = nullptr;             // whose it is; null: of the launch itself
  bool was_load = false;                              // of an earlier launch
  bool is_same_block = false, is_shared_word = false; // is_shared_word: several blocks loaded it
  std::uint32_t block = 0;                            // its number; of a shared word, one of them
  std::uint32_t thread = 0, clock = 0;                // the block's own clock
};

Earlier earlier_of(const Block& block, std::uint64_t entry);

// Whether nothing orders the lane's access behind that of the entry.
bool is_unordered(const Warp& w, std::uint32_t lane, const Earlier& e);

// Of the launch, or of its primary one: the program, the instruction, and the function that it is
// in.
const Program& program_of_entry(const Warp& w, std::uint64_t entry);
const Instruction& site_of_entry(const Warp& w, std::uint64_t entry, const Code** code);

} // namespace gmt::executor
