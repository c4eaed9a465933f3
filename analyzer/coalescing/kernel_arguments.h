// SPDX-License-Identifier: Apache-2.0
// What the host gave each kernel, by the kernel's name as linked: where it was launched first, and
// the one allocation that its pointers led into, if there was only one at all of its launches.
// Followed for traces that were made with --coalescing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyzer/heap/heap.h"
#include "analyzer/model/event.h"

namespace gmt {

class TraceNames;

struct KernelUse {
  std::uint64_t launches = 0;
  StackId first;                     // where the first of them was made
  std::uint16_t api = trace::kNoApi; // as the program wrote it

  // The only allocation, as of the first launch (no detail); nothing if there were several, none
  // that is known, or arguments that were not read.
  std::optional<Block> memory;
  // Bytes behind a multiple of 32 that a pointer into it was, 0 if none was
  std::uint64_t argument_off = 0;
};

class KernelUses {
public:
  void follow(const Event& e, const Heap& heap, const TraceNames& names); // behind Heap::apply()

  const KernelUse* find(std::string_view linked) const; // null if it was never launched
  // The distance of rows that copies and sets made of the memory, if it is no multiple of 32 bytes;
  // else 0.
  std::uint64_t odd_pitch(const Block& memory) const;
  const std::unordered_map<std::string, KernelUse>& all() const { return uses_; }

private:
  void on_launch(const Event& e, const Heap& heap, const TraceNames& names);
  void on_rows(const Event& e, const Heap& heap);

  std::unordered_map<std::string, KernelUse> uses_;
  // Of rows off a sector, by when their block was allocated
  std::unordered_map<std::uint64_t, std::uint64_t> pitches_;
};

} // namespace gmt
