// SPDX-License-Identifier: Apache-2.0
// What the machine says when something is wrong. The machine knows which thread did what at which
// instruction; a ReportSink decides what that means and keeps one report for each kind and
// instruction. A sink belongs to one worker.
#pragma once

#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/report.h"

#include <cstddef>
#include <string>

namespace gmt::executor {

struct EarlierLaunch;

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

// Races that programs rely on to be harmless.
enum class RaceHabit : std::uint8_t {
  kNone,
  kSameValue, // both stored the same
  kPoll,      // a plain load of what is written by atomics or volatile stores, or the reverse
  kFlag,      // a plain load that is only compared, and a plain store that raises what is tested
  kRelaxed,   // a load behind which its block met and stored a flag, and a store behind that flag
};

// Another thread, for races and barriers.
struct OtherThread {
  static constexpr std::uint64_t kSameBlock = ~std::uint64_t{0}, kNoBlock = kSameBlock - 1;
  const Code* code = nullptr;
  const Instruction* in = nullptr;  // null: it is not known where
  std::uint64_t block = kSameBlock; // its number; kNoBlock: another one, which is not known
  std::uint32_t thread = 0;         // in the block
  Access access = Access::kUnknown;
  // Races of a store: where the same thread loaded the bytes before; null: it did not
  const Code* own_code = nullptr;
  const Instruction* own_load = nullptr;
  RaceHabit habit = RaceHabit::kNone;     // of races in global memory
  const EarlierLaunch* earlier = nullptr; // whose thread it is; null: of the launch itself
  // Report::message of a race in shared memory, and what begins it where it is an earlier launch's
  const char* how = nullptr;
  bool is_unsure = false; // it may be none on a GPU
};

class ReportSink {
public:
  virtual ~ReportSink() = default;
  // The thread and the line; empty if nothing is known.
  virtual Location location(const AccessFacts& facts) const = 0;
  // The launch's first mistake for which a GPU would have stopped it is kept.
  virtual void refused(const AccessFacts& facts, ByteState state) = 0; // not in live memory
  virtual void misaligned(const AccessFacts& facts) = 0;
  // Of an address in shared memory of the cluster: it has no such rank.
  virtual void wrong_rank(const AccessFacts& facts, std::uint64_t rank) = 0;
  // Outside of a surface, whose coordinates are no address: `what` says where.
  virtual void outside_texture(const AccessFacts& facts, std::uint32_t error,
                               const std::string& what) = 0;
  // A handle that leads to no texture or surface that the instruction can use; `why` in words.
  virtual void wrong_texture(const AccessFacts& facts, ReportKind kind, std::uint32_t error,
                             const std::string& why) = 0;
  // The access was one of shared memory of another block, which ends without knowing of it.
  virtual void left_early(const AccessFacts& facts) = 0;
  virtual void uninitialized(const AccessFacts& facts) = 0;
  // Where registers are tracked: a value that nothing wrote decides something. `load` is where it
  // was loaded; null: no memory is known from which it comes.
  virtual void unwritten_use(const AccessFacts& use, const AccessFacts* load) = 0;
  virtual void race(const AccessFacts& facts, const OtherThread& other) = 0;
  // Of global memory: either of them may have come first.
  virtual void global_race(const AccessFacts& facts, const OtherThread& other) = 0;
  virtual void never_meet(const AccessFacts& facts, const OtherThread& other, bool whole_block) = 0;
  // Warps meet at a barrier of the block, and stand at different instructions.
  virtual void meets_elsewhere(const AccessFacts& facts, const OtherThread& other) = 0;
  // Threads go on at a barrier of the block without `other`, which has ended.
  virtual void left_out(const AccessFacts& facts, const OtherThread& other) = 0;
  // Of a shuffle, a vote or their like: the mask lacks its caller ("unnamed"), or names a lane that
  // gives another one ("differing").
  virtual void wrong_mask(const AccessFacts& facts, const char* how) = 0;
  // Ends the grid: trap, assert, a call of no function, an overflow of the stack.
  virtual void ends(const AccessFacts& facts, ReportKind kind, std::uint32_t error,
                    const std::string& message) = 0;
  virtual void heap_event(HeapEvent event) = 0; // in the order of the heap's own events
  virtual void print(std::string text) = 0;
  // After events and texts, with no lock held: waits until the observer has heard of most of them.
  virtual void pause_if_full() = 0;
  // The blocks before this one are done, and will be reported on in any case.
  virtual void settle(std::uint64_t block) = 0;
};

// One for each worker. What they have to say reaches the observer by the thread that runs the grid.
class ReportSinks {
public:
  virtual ~ReportSinks() = default;
  // By the thread that runs the grid, before the worker starts. That thread is the first worker.
  virtual ReportSink& of_worker(std::size_t worker) = 0;
  virtual void deliver() = 0; // events and texts so far, to the observer
  // Reports of the blocks up to `last`, to the observer. No worker runs any more.
  virtual void finish(std::uint64_t last) = 0;
};

const Instruction* invalid_call(Warp& w, const Instruction* in, std::uint64_t target);
const Instruction* stack_overflow(Warp& w, const Instruction* in);
AccessFacts facts_of(const Warp& w, const Instruction* in, std::uint32_t lane);

} // namespace gmt::executor
