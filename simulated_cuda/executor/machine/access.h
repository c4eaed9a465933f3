// SPDX-License-Identifier: Apache-2.0
// Accesses of a warp to memory, lane by lane, with every check: what handlers call when a whole
// warp's access is not plainly right. An access that is refused is not done: a load gives 0.
#pragma once

#include "simulated_cuda/executor/machine/memory.h"
#include "simulated_cuda/executor/machine/warp.h"

namespace gmt::executor {

struct AccessFacts;

// Where a lane's access goes.
struct Translation {
  std::byte* host = nullptr;      // null: refused, and reported
  std::uint8_t* shadow = nullptr; // of the word that holds the first byte; null: not tracked
  std::uint32_t first = 0;        // of the access in that word
  Space space = Space::kUnknown;
  std::uint64_t offset = 0;       // in shared and local memory
  Block* block = nullptr;         // whose shared memory it is
  const Region* region = nullptr; // of device memory: other workers may access it, see
                                  // device_bytes.h
};

// The space of a generic address, which becomes the offset there.
Space resolve(Space space, std::uint64_t* address);

// `alignment` 0: the address is a multiple of `bytes`, a power of two.
Translation translate(Warp& w, const Instruction* in, std::uint32_t lane, Space space,
                      std::uint64_t address, std::uint32_t bytes, Access access,
                      std::uint32_t alignment = 0);

// `addresses` are without the instruction's offset; `count` elements of `bytes` each lie one after
// the other.
// Where the warp goes on: a load of bytes that nothing wrote makes it track its registers.
const Instruction* load_by_lane(Warp& w, const Instruction* in, Space space,
                                const std::uint64_t* addresses, std::uint32_t bytes,
                                std::uint32_t count);
void store_by_lane(Warp& w, const Instruction* in, Space space, const std::uint64_t* addresses,
                   std::uint32_t bytes, std::uint32_t count);

// Where an atomic's bytes lie; null: it is refused. Those of an mbarrier are in no race.
std::byte* atomic_target(Warp& w, const Instruction* in, std::uint32_t lane, Space space,
                         std::uint64_t address, std::uint32_t bytes, bool has_result);
Translation object_target(Warp& w, const Instruction* in, std::uint32_t lane, Space space,
                          std::uint64_t address, std::uint32_t bytes, bool has_result);

// Whether another thread of the block used the bytes of shared memory and nothing orders the two;
// remembers the access. `value` is what a store writes.
void check_race(Warp& w, const Instruction* in, std::uint32_t lane, std::uint64_t offset,
                std::uint32_t bytes, Access access, const std::byte* value);

// The same of shared memory of another block of the cluster.
void check_remote_race(Block& target, Warp& w, const Instruction* in, std::uint32_t lane,
                       std::uint64_t offset, std::uint32_t bytes, Access access);

// An mbarrier of the warp's block is used: whether the thread knows that another one has made it.
void check_made(Warp& w, const Instruction* in, std::uint32_t lane, std::uint64_t offset,
                Access access);

// An asynchronous copy stores to the bytes, or loads them, from now on until it ends. Then it
// counts as an access of its thread.
void begin_copy(Warp& w, const Instruction* in, std::uint32_t lane, Block& target,
                std::uint64_t offset, std::uint32_t bytes, Access access);
void end_copy(Block& target, const Warp& w, std::uint32_t lane, std::uint64_t offset,
              std::uint32_t bytes, Access access);

// The same of global memory, and of threads of other blocks. `offset` is in the region.
void check_global_race(Warp& w, const Instruction* in, std::uint32_t lane, const Region& region,
                       std::uint64_t offset, std::uint32_t bytes, Access access,
                       const std::byte* value);
// What the table knows of stores to each word of the bytes, for check_unchanged().
void see_stores(const Warp& w, const Region& region, std::uint64_t offset, std::uint32_t bytes,
                std::uint64_t* stores);
// A copy reads its source only now: whether something has stored there since `stores` were seen.
void check_unchanged(const AccessFacts& copy, const Region& region, std::uint64_t offset,
                     const std::uint64_t* stores);
// Whether entries of a table of races are of accesses that lanes know: from `first` on `words_each`
// words for each. 0: that lane has them all, or all lanes if it is kLanes. `now` is their own
// entry.
bool knows_entries(const Warp& w, const std::uint64_t* entries, std::uint32_t words,
                   std::uint64_t now, std::uint32_t first, std::uint32_t words_each);
// The entry of a word that was loaded again, where it is neither the one nor the other alone.
std::uint64_t joined_load(const Warp& w, std::uint64_t before, std::uint64_t now);
// Something is done to a line first in the launch: loads, or stores. Whether it is all that was
// done.
bool claim_line(const Warp& w, std::uint16_t* line, std::uint16_t wanted);
// Sets kLineShared of a line that was only loaded, if it is so.
void share_line(const RaceTable& table, std::uint64_t line, const RaceClock& clock);

// Makes the region that holds an address the warp's region; false if there is none.
bool find_region(Warp& w, std::uint64_t address);

// Which bits of a shadow say what about `bytes` bytes from byte `first` of a word on.
std::uint64_t initialized_bytes(const std::uint8_t* shadow, std::uint32_t first,
                                std::uint32_t bytes); // a bit a byte
void set_initialized(std::uint8_t* shadow, std::uint32_t first, std::uint32_t bytes,
                     std::uint64_t which);

} // namespace gmt::executor
