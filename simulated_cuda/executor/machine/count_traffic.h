// SPDX-License-Identifier: Apache-2.0
// Counts what the accesses of warps move, where a launch asks for it: it runs a program of its own,
// which has a handler before each instruction that uses global or shared memory. Others pay
// nothing.
#pragma once

#include "simulated_cuda/executor/machine/traffic.h"
#include "simulated_cuda/executor/program/program.h"

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace gmt::executor {

// How the lanes of a warp come together.
enum class Together : std::uint8_t {
  kLoad,   // lanes that load the same bytes are one
  kRows,   // the same of ldmatrix, whose rows are never joined
  kStore,  // the same of stores
  kAtomic, // each lane for itself
};

// One access of `bytes`, 1 to 16, by each lane of `mask`, which is not 0. Addresses of other lanes
// are not read.
void count_sectors(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                   TrafficCounts& counts);
void count_wavefronts(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                      Together together, TrafficCounts& counts);
// The wavefronts of a copy to shared memory: the turns of its banks, or the lines of 128 bytes that
// it comes from, whichever are more.
void count_copy(const std::uint64_t* from, const std::uint64_t* to, std::uint32_t mask,
                std::uint32_t bytes, TrafficCounts& counts);

// An access that is counted: what executes it, and where its lanes' addresses are.
struct CountedAccess {
  Handler handler = nullptr;                           // null: it is none
  std::uint32_t slot = 0;                              // of its sums
  std::uint32_t address = kNoOperand, to = kNoOperand; // operands; to: shared memory of a copy
  std::int64_t offset = 0;
  std::uint32_t bytes = 0, rows = ~0u; // of a lane; lanes whose addresses count
  Space space = Space::kUnknown;
  Access access = Access::kUnknown;
  Together together = Together::kLoad;
  bool is_narrow = false; // the address has 32 bits
};

// By the function of a program, and by the instruction in it. Slots are those of the PTX, so that a
// program with tracked registers has the same ones.
struct TrafficPlan {
  std::unordered_map<const Code*, std::vector<CountedAccess>> accesses;
  std::uint32_t slots = 0;
};

// Puts the counting handlers into a bound program, which is this plan's from now on.
TrafficPlan plan_traffic(Program& program);

// The sums of one launch. Workers count in sums of their own.
class TrafficCounter {
public:
  TrafficCounter();
  TrafficCounter(const TrafficCounter&) = delete;
  TrafficCounter& operator=(const TrafficCounter&) = delete;

  void add(const TrafficPlan& plan); // which outlives the counter
  // What the calling thread counts in, and the accesses of a function.
  struct Where {
    const std::vector<CountedAccess>* accesses = nullptr;
    std::vector<TrafficCounts>* sums = nullptr;
  };
  Where find(const Code* code);
  std::uint64_t number() const { return number_; } // no other counter has it

  // When all workers are done: the functions of the program that was counted.
  void collect(const Program& program, const TrafficPlan& plan, Traffic& traffic) const;

private:
  const std::uint64_t number_;
  mutable std::mutex mutex_;
  std::vector<const TrafficPlan*> plans_;
  std::list<std::vector<TrafficCounts>> sums_;
  std::uint32_t slots_ = 0;
};

} // namespace gmt::executor
