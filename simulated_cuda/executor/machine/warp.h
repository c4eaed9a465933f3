// SPDX-License-Identifier: Apache-2.0
// What is executed: a grid's blocks, their warps, and in a warp the fragments into which branches
// part its lanes. A join is where lanes meet that parted: lanes arrive, and when all that are
// expected have, they go on together. A call is a join as well: its lanes meet behind the call.
// Invariants: a lane belongs to exactly one fragment, or has arrived at exactly one join, or has
// left. Waiting at a join is never needed for correctness: a fragment that spins, or a warp of
// which every fragment waits, releases lanes from their joins (Warp::release_joins).
#pragma once

#include "simulated_cuda/executor/program/program.h"
#include "simulated_cuda/executor/report.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gmt::executor {

struct Block;
struct Grid;
struct Frame;
struct Region;
struct Worker;

struct Join {
  std::uint32_t expected = 0, arrived = 0;
  const Instruction* resume = nullptr;
  Join* parent = nullptr;
  Frame* frame = nullptr;    // in which the lanes go on
  Frame* finished = nullptr; // of a call: the callee's frame, which ends with the join
};

// One activation of a function by some lanes of a warp.
struct Frame {
  std::byte* registers = nullptr;
  std::byte* parameters = nullptr; // of a lane after the other
  const Code* code = nullptr;
  Frame* caller = nullptr;
  const CallSite* site = nullptr;
  Join* exit = nullptr; // its call; null in the kernel's own frame
  std::uint32_t local_base = 0;
  std::uint32_t local_end = 0;
  std::uint32_t depth = 0;
};

enum class Wait : std::uint8_t {
  kNone,
  kBarrier, // arrived at a barrier of the block
  kPartial, // at an aligned barrier, where the warp's other lanes are not yet
  kOthers,  // at an instruction that names lanes which are not there yet
  kCluster, // for the barrier of the cluster
};

struct Fragment {
  const Instruction* at = nullptr;
  std::uint32_t mask = 0;
  Frame* frame = nullptr;
  Join* join = nullptr;
  Wait wait = Wait::kNone;
  std::uint32_t lanes = 0;   // kOthers: which it waits for
  std::uint32_t barrier = 0; // kBarrier
};

// Where registers are tracked: the last time that an instruction loaded what nothing wrote.
struct UnwrittenLoad {
  const Instruction* in = nullptr;
  std::uint32_t lane = 0, bytes = 0;
  Space space = Space::kUnknown;
  std::uint64_t address = 0;
};

struct Warp {
  // The fragment that runs
  std::byte* base[2] = {nullptr, nullptr}; // registers of its frame; constants
  std::uint32_t mask = 0;
  std::uint32_t active = 0; // lanes in mask
  Join* join = nullptr;
  Frame* frame = nullptr;
  Frame* first_frame = nullptr;   // of the kernel
  const Region* region = nullptr; // the one of the last access
  std::int32_t budget = 0;        // backward branches until another fragment or warp has its turn
  std::int32_t calls = 0;         // until the warp's turn is over

  const Instruction* at = nullptr; // where it goes on; null: nothing of it can run now
  std::uint32_t alive = 0;         // lanes that have not left
  std::uint32_t present = 0;       // lanes that exist at all
  std::uint32_t id = 0;            // in its block
  Block* block = nullptr;
  const Grid* grid = nullptr;
  const Program* program = nullptr; // the grid's, or the same with tracked registers
  bool is_tracked = false;          // its registers are
  Worker* worker = nullptr;
  std::uint32_t last_sync = 0;    // clock of the block at the last synchronisation of the warp
  std::uint32_t device_fence = 0; // clock of the block at the last fence for other blocks; 0: none
  std::uint32_t turns = 0;
  const Instruction* left_at = nullptr; // where the last lanes left that have
  const Code* left_code = nullptr;
  const Instruction* forced = nullptr; // goes on without the lanes that it names
  bool spinning = false;               // its turn ended since it branched backwards too often
  std::vector<Fragment> ready, waiting;
  std::vector<Frame*> all_frames, spare_frames;
  std::vector<Join*> all_joins, spare_joins;
  std::vector<std::byte> local;        // of a lane after the other
  std::vector<std::byte> local_shadow; // where registers are tracked: bits that nothing wrote
  std::vector<UnwrittenLoad> unwritten;
  std::uint32_t local_stride = 0;
  alignas(64) std::uint32_t thread[3][kLanes]; // %tid

  // Each returns the instruction at which to go on, null if the warp's turn is over.
  const Instruction* next_fragment();
  const Instruction* branch(const Instruction* in, std::uint32_t taken);
  const Instruction* arrive(const Instruction* at);  // at the innermost join
  const Instruction* leave(const Instruction* in);   // exit
  const Instruction* return_(const Instruction* in); // ret
  const Instruction* call(const Instruction* in);
  const Instruction* table_branch(const Instruction* in);
  const Instruction* turn_over(const Instruction* in); // too many backward branches
  const Instruction* pause(const Instruction* in);     // too many calls
  const Instruction* wait_for(const Instruction* in, std::uint32_t lanes);
  const Instruction* barrier(const Instruction* in);
  const Instruction* warp_barrier(const Instruction* in, std::uint32_t lanes);

  Fragment standing(const Instruction* in, Wait wait = Wait::kNone) const; // what runs, at `in`
  void part(const Instruction* to, std::uint32_t lanes); // lanes of what runs go on there
  void expect_all_at(const Instruction* meet); // a join there, unless the innermost one is it
  void synchronized(std::uint32_t lanes);      // of the warp, which waited for each other
  void start(Frame* first, std::uint32_t lanes);
  void stop();         // all lanes leave
  void reset_frames(); // none is left but the kernel's own
  bool release_joins(Join* innermost);
  void set_mask(std::uint32_t lanes) {
    mask = lanes;
    // The least processors count bits by a call
    active = lanes == ~0u ? kLanes
                          : static_cast<std::uint32_t>(lanes == 0 ? 0 : __builtin_popcount(lanes));
  }
  void load(const Fragment& fragment);
  Frame* new_frame(const Code& code);
  void free_frame(Frame* frame);
  Join* new_join();
  Join* open_join(const Instruction* meet); // for the lanes that run
  Fragment leave_join(Join* from);
  void settle(Join* join);
  void drop_lanes(Join* from, const Join* end, std::uint32_t lanes);
  void reserve_local(std::uint32_t bytes);
  void take_results(Frame* from, std::uint32_t lanes);
  bool wake_complete();
  bool split_barriers();
  const Instruction* arrive_at_barrier(const Instruction* in);
  bool force_waiting(); // of those that wait for lanes which cannot come
  void release_group(Fragment first, bool is_barrier, std::uint32_t lanes);
  void merge_joins(const Fragment& from, Join* into);

  Warp() = default;
  ~Warp();
  Warp(const Warp&) = delete;
  Warp& operator=(const Warp&) = delete;
};

} // namespace gmt::executor
