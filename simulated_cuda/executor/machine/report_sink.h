// SPDX-License-Identifier: Apache-2.0
// What the machine says when something is wrong. The machine knows which thread did what at which
// instruction; a ReportSink decides what that means and keeps one report for each kind and
// instruction.
#pragma once

#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/report.h"

namespace gmt::executor {

struct AccessFacts {
  const Warp* warp = nullptr;
  const Instruction* in = nullptr;
  const Code* code = nullptr;
  std::uint32_t lane = 0;
  Space space = Space::kUnknown;
  Access access = Access::kUnknown;
  std::uint64_t address = 0; // in shared, local and parameter memory the offset
  std::uint32_t bytes = 0;
};

// Another thread of the block, for races and barriers.
struct OtherThread {
  const Code* code = nullptr;
  const Instruction* in = nullptr; // null: it is not known where
  std::uint32_t thread = 0;        // in the block
  Access access = Access::kUnknown;
};

class ReportSink {
public:
  virtual ~ReportSink() = default;
  // The thread and the line; empty if nothing is known.
  virtual Place place(const AccessFacts& facts) const = 0;
  // The launch's first mistake for which a GPU would have stopped it is kept.
  virtual void refused(const AccessFacts& facts, ByteState state) = 0; // not in live memory
  virtual void misaligned(const AccessFacts& facts) = 0;
  virtual void uninitialized(const AccessFacts& facts) = 0;
  // Where registers are tracked: a value that nothing wrote decides something. `load` is where it
  // was loaded; null: no memory is known from which it comes.
  virtual void unwritten_use(const AccessFacts& use, const AccessFacts* load) = 0;
  virtual void race(const AccessFacts& facts, const OtherThread& other) = 0;
  virtual void never_meet(const AccessFacts& facts, const OtherThread& other, bool whole_block) = 0;
  // Ends the grid: trap, assert, a call of no function, an overflow of the stack.
  virtual void ends(const AccessFacts& facts, ReportKind kind, std::uint32_t error,
                    const std::string& message) = 0;
  virtual void heap_event(const AccessFacts& facts, HeapEvent event) = 0;
  virtual void print(const std::string& text) = 0;
};

const Instruction* invalid_call(Warp& w, const Instruction* in, std::uint64_t target);
const Instruction* stack_overflow(Warp& w, const Instruction* in);
AccessFacts facts_of(const Warp& w, const Instruction* in, std::uint32_t lane);

} // namespace gmt::executor
