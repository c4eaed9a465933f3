// SPDX-License-Identifier: Apache-2.0
// One simulated device: its memory (a memfd mapped twice), its pools and its primary context.
// Owned by State. The program gets addresses inside `window`, which it cannot read or write, as on
// a real GPU; the driver reaches the same bytes through `alias`. Invariants: window and alias cover
// twice the capacity and never move; pages cost nothing until they are written. Behind each block
// lies a gap of its own size, and freed memory rests for a while, so that a kernel that leaves its
// block or uses a freed one meets no other block.
#pragma once

#include "simulated_cuda/driver/state/arena.h"
#include "simulated_cuda/driver/state/block.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>

namespace gmt::sim {

struct Settings;

// Of a pool or of graph memory: how much is in use now, and the high-water mark the program can
// reset.
struct Usage {
  std::size_t current = 0;
  std::size_t high = 0;
  void grow(std::size_t bytes) {
    current += bytes;
    if (current > high) high = current;
  }
  void shrink(std::size_t bytes) { current -= bytes; }
};

struct Pool {
  Pool() = default;
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  Device* device = nullptr;
  bool is_default = false;
  bool destroyed = false; // cuMemPoolDestroy was called, blocks of it are still alive
  CUmemPoolProps props{};
  Usage used;
  std::uint64_t release_threshold = 0;
  std::uint64_t kept = 0; // memory that is in no block, and was not given back yet
  int reuse_follow_event = 1;
  int reuse_opportunistic = 1;
  int reuse_internal = 1;
  int imported_file = -1;                            // the memory of the process whose pool this is
  std::map<int, CUmemAccess_flags> access_of_others; // by device; the owner's cannot be taken away
};

struct Device {
  Device(int ordinal, const Settings& settings, std::pmr::memory_resource* nodes);
  ~Device(); // of one that could not be set up; the others live as long as the process
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  CUresult map_memory(); // before anything else; what it answers is cuInit's answer

  // Takes memory from the arena; 0 when no hole serves.
  CUdeviceptr take(std::size_t bytes, std::size_t alignment = kGranule);
  void give(CUdeviceptr address, std::size_t bytes);
  // Maps a piece of the memory at the target, too.
  bool map_at(void* target, CUdeviceptr address, std::size_t bytes) const;
  std::intptr_t to_host() const {
    return reinterpret_cast<std::intptr_t>(alias) - static_cast<std::intptr_t>(window);
  }
  std::size_t offset_of(CUdeviceptr address) const { return address - window; } // in the memfd
  std::size_t free_bytes() const { return arena.free_bytes() + resting_bytes; }

  int ordinal;
  int memory_fd = -1; // none where RLIMIT_FSIZE is too small: other processes cannot open it
  CUdeviceptr window = 0;
  std::byte* alias = nullptr;
  std::byte* reservation = nullptr; // holds the window
  Arena arena;
  std::size_t stretch; // an address is so many times its offset in the arena
  std::size_t most_resting_cost;
  struct Rest {
    std::size_t offset; // in the arena
    std::size_t bytes;
  };
  std::deque<Rest> resting; // freed, and not handed out again yet; oldest first
  std::size_t resting_bytes = 0, resting_cost = 0;
  Context* primary = nullptr;
  unsigned primary_references = 0;
  unsigned primary_flags = 0;
  std::unique_ptr<Pool> default_pool;
  Pool* current_pool = nullptr;
  Usage graph_memory;
  std::size_t blocks_apart = 0; // alive: peer access does not say which devices may use them

private:
  bool rests_too_much() const;
  void release_oldest();
};

} // namespace gmt::sim
