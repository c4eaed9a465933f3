// SPDX-License-Identifier: Apache-2.0
// A block of a grid while it runs, and the grid, which does not change meanwhile. Shared memory has
// the same shadow as device memory and, for races, an entry for each granule: who wrote it last and
// who read it, each with the clock of the block. ordering.h says which of them are ordered.
#pragma once

#include "simulated_cuda/executor/machine/memory.h"
#include "simulated_cuda/executor/machine/ordering.h"
#include "simulated_cuda/executor/machine/random.h"
#include "simulated_cuda/executor/machine/warp.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gmt::executor {

class AsyncCopies;
class Cluster;
class DeviceHeap;
class GridOrdering;
class TrackedTwin;
class UnreadRaces;
struct AccessFacts;
struct Launch;
struct Worker;

// Entries of the table of races: thread 11 bits and clock 21 bits of the last write, and the same
// of reads. A reader from 1024 on is several threads of the warp (reader - 1024); 2047: of several
// warps. kCopying with kMostClock: an asynchronous copy, which is not over. From kRemote on: a
// thread of another block of the cluster, by its rank. kUnread with kMostClock: a write that races
// with another one, and that no thread has read yet (unread_races.h).
namespace race {
inline constexpr std::uint32_t kThreadBits = 11, kClockBits = 21;
inline constexpr std::uint32_t kThreadMask = (1u << kThreadBits) - 1;
inline constexpr std::uint32_t kMostClock = (1u << kClockBits) - 1;
inline constexpr std::uint32_t kWarpReaders = 1024, kManyReaders = kThreadMask;
inline constexpr std::uint32_t kCopying = kWarpReaders + kLanes, kRemote = kCopying + 1;
inline constexpr std::uint32_t kMostRanks = 16;
inline constexpr std::uint32_t kCopy = kCopying | kMostClock << kThreadBits;
inline constexpr std::uint32_t kUnread = (kRemote + kMostRanks) | kMostClock << kThreadBits;
} // namespace race

struct Barrier {
  std::uint32_t expected = 0; // threads that it waits for; 0: all of the block
  std::uint32_t arrived = 0;
  std::uint32_t ones = 0, voters = 0; // of bar.red
  bool has_arrivals = false;          // of threads that do not wait: `order` holds what they did
  Ordering::Released order;
};

struct Block {
  static constexpr std::uint32_t kBarriers = 16;

  const Grid* grid = nullptr;
  Worker* worker = nullptr; // that runs it
  std::uint32_t id[3] = {0, 0, 0};
  std::uint64_t number = 0;
  std::byte* shared = nullptr;
  std::uint8_t* shared_shadow = nullptr;
  std::uint64_t* races = nullptr;       // null: they are not looked for
  std::uint32_t* store_sites = nullptr; // of each entry: the number of the last store
  std::uint32_t* load_sites = nullptr;
  std::uint32_t shared_bytes = 0; // that a kernel may address, dynamic memory included
  std::uint32_t race_shift = 2;
  std::uint32_t clock = 1, last_barrier = 1;
  Ordering order;
  bool is_ordered = false; // `order` is kept, for races in shared or global memory
  // Of global memory
  RaceClock global;
  std::uint32_t run_clock = 0; // at which the run of `global` began
  std::uint32_t known = 0;     // of what other blocks let know: see grid_ordering.h
  bool has_device_fence = false;
  std::uint32_t threads = 0, alive = 0; // threads
  std::uint32_t gpu_error = 0;          // the first that would have stopped a GPU
  std::uint64_t faults = 0;             // accesses for which one would have
  std::uint64_t instructions_after = 0; // that it executed since the first of them
  bool done = true;
  bool has_ended_grid = false;
  bool is_left_out = false; // stopped in the middle, since the grid has ended
  bool spinning = false;    // a warp's turn ended since it branched backwards too often
  const Instruction* passed_without_all = nullptr; // the last barrier that ended threads left out
  Barrier barriers[kBarriers];
  std::vector<Ordering::Lanes> let_go; // room for what release() collects
  std::unique_ptr<AsyncCopies> copies; // null: there was none
  std::unique_ptr<UnreadRaces> unread; // null: there was none
  Cluster* cluster = nullptr;          // that it is in, if only by itself
  std::uint32_t rank = 0;              // in it
  std::uint32_t cluster_clock = 0;     // what was done before is ordered for the whole cluster
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<Warp*> turns; // the order in which they have their turns
  Random random;            // of a seed: it decides who is next
  std::vector<std::byte> shared_bytes_storage;
  std::vector<std::uint8_t> shadow_storage;
  std::vector<std::uint64_t> race_storage;
  std::vector<std::uint32_t> site_storage;

  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void prepare(Worker& worker); // once: blocks use it one after the other
  void start(std::uint64_t number);
  void end_faulted(); // all its warps stop
  void stuck();
  void report_stuck();
  AccessFacts standing() const; // a thread that has not left, where it goes on
  bool run();                   // until no warp can go on; whether anything ran
  void advance_clock();
  void barrier_of_all() { // everything before is ordered before everything after
    advance_clock();
    last_barrier = clock;
    order.barrier_of_all();
    set_global_clock();
  }
  // For other blocks: a fence, and strong accesses to global memory
  void fence_for_others(Warp& w) {
    w.device_fence = clock;
    has_device_fence = true;
  }
  void release(const Warp& w); // before the access
  void acquire();              // behind it
  void set_global_clock();     // `clock` or `last_barrier` has changed
  void lanes_left(const Warp& w, std::uint32_t lanes);
  // Those who wait at it go on, and `last`, which need not wait any more.
  void release(std::uint32_t barrier, const Ordering::Lanes& last);
  void complete_barriers(); // those that wait for no living thread any more
  // Threads that wait at `in` go on without some that have ended.
  void note_left_out(const Warp& w, const Instruction* in, const Code& code, std::uint32_t lanes);
};

struct Grid {
  const Launch* launch = nullptr;
  const Program* program = nullptr;
  std::byte* constants = nullptr;
  std::vector<std::byte> parameters;
  Memory* memory = nullptr;
  const Reach* reach = nullptr;
  std::uint32_t extent[3] = {1, 1, 1}, block_extent[3] = {1, 1, 1};
  std::uint64_t blocks = 0;
  std::uint64_t seed = 0; // of this launch; 0: blocks, warps and lanes have their turns in order
  std::uint32_t cluster_extent[3] = {1, 1, 1}, cluster_blocks = 1;
  bool has_clusters = false;            // that the launch or the kernel asks for
  std::uint32_t threads = 0, warps = 0; // of a block
  std::uint32_t shared_bytes = 0;
  const Region* first_region = nullptr;
  std::vector<std::uint8_t> shared_pattern; // the shadow of shared memory at a block's start
  std::uint64_t workspace = 0;              // of a cooperative grid: its address
  DeviceHeap* heap = nullptr;
  TrackedTwin* twin = nullptr; // of `program`
  bool check_loads = true;     // what is not initialised makes a warp that loads it track registers
  bool check_atomics = true;   // the same of atomics
  bool check_races = true;
  GridOrdering* ordering = nullptr; // null: races in global memory are not looked for
  // Of each pointer in Program::loaded_through, by its number plus 1: the launch cannot write the
  // memory that it leads to
  std::uint8_t never_written[256] = {};
};

// Where the block of a number lies in the grid: those of a cluster are numbered one after the
// other.
Extent position_of(const Extent& grid, const Extent& cluster, std::uint64_t number);

} // namespace gmt::executor
