// SPDX-License-Identifier: Apache-2.0
// What pools said, until a launch writes it into the table. Private to regions.cpp, which keeps it,
// and region_writes.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/pool_map.h"

namespace gmt::interposer::kernel_checks {

struct DividedBlock {
  PoolMap map;
  RangeSet changed;                          // what the table does not have yet
  std::map<std::uint32_t, Region> new_slots; // whose bounds it does not have yet
  bool is_captured = false;                  // graphs may use it: unknown for good
  bool is_forgotten = false;                 // and the table says so
};
struct PoolsOfProcess {
  std::map<std::uint64_t, DividedBlock> blocks;                           // by their begins
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> pools; // begins and ends
};
extern Lasting<PoolsOfProcess> all_pools; // with the lock
extern std::atomic<bool> has_pools;       // there has been one in this context

// So often launches began that the writer does not know of. Each one sets the word in the host's
// memory first that makes marks say "unknown".
extern std::atomic<std::uint32_t> disturbed;

// From now on what these addresses of blocks have is unknown: by the host's own accord, whatever
// marks that are queued in streams write behind it.
void forget_now(const std::vector<rewriter::Block>& blocks) noexcept;
void wait_for_region_writer() noexcept;
void begin_region_writer_anew(bool is_forked) noexcept; // the context has ended

} // namespace gmt::interposer::kernel_checks
