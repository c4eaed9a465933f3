// SPDX-License-Identifier: Apache-2.0
// The fenced blocks of the process. A block is known by its number; a look-up by address takes a
// step, whatever their count. One lock for the table and the addresses, held for some instructions
// and never over a call of CUDA.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/fork_guard.h"
#include "interposer/base/signal_guard.h"
#include "interposer/driver_state/fenced_addresses.h"
#include "interposer/guard/store/address_space.h"

namespace gmt::interposer {

enum class BlockState : std::uint8_t {
  kNone,
  kLive,
  kReleasing, // a thread frees it now
  kWaiting,   // freed in a stream's order, whose work is not done
  kStuck,     // its memory could not be given back: it stays as it is
};

struct GuardBlock {
  CUdeviceptr address = 0; // the program's
  std::uint64_t bytes = 0; // requested
  CUdeviceptr mapping = 0;
  std::uint64_t mapped = 0;
  CUmemGenericAllocationHandle memory = 0;
  AddressRange range; // with the gap
  CUcontext context = nullptr;
  CUmemoryPool pool = nullptr; // of stream-ordered memory
  CUevent event = nullptr;     // kWaiting: behind the work that may use it; null: all work
  std::uint64_t since = 0;     // the order of the last check that found its pattern whole
  std::uint64_t stack = 0;     // a hash of the call stack that allocated it
  int device = 0;
  BlockState state = BlockState::kNone;
  bool has_pattern = false;
  std::uint32_t next = 0; // of the free ones, and of those that wait

  std::uint64_t end() const noexcept { return address + bytes; }
  std::uint64_t before() const noexcept { return address - mapping; } // bytes mapped in front
  std::uint64_t behind() const noexcept { return mapping + mapped - end(); }
};

// Signals wait meanwhile, so that no handler waits for its own thread; a fork finds no thread
// inside.
class GuardLock {
public:
  GuardLock() noexcept : lock_(taken_, kMilliseconds) {}
  bool held() const noexcept { return lock_.held(); }
  static void forget() noexcept { taken_.store(false); }

private:
  static constexpr int kMilliseconds = 2000;
  static std::atomic<bool> taken_;
  const SignalGuard signals_;
  const InsideLocks guard_;
  const BoundedLock lock_;
};

class GuardBlocks {
public:
  // Addresses from `base` on; false if there is no memory for the tables.
  bool begin(CUdeviceptr base, std::uint64_t units) noexcept;
  void forget() noexcept; // in a forked child: the tables are the parent's

  // All below under the GuardLock.
  AddressSpace& space() noexcept { return space_; }
  CUdeviceptr address_of(std::uint32_t unit) const noexcept {
    return fenced_addresses.base() + unit * kGuardUnit;
  }
  std::uint32_t add(const GuardBlock& block) noexcept; // 0 if there is no room
  void remove(std::uint32_t number) noexcept;          // its addresses are its owner's to give
  GuardBlock& at(std::uint32_t number) noexcept { return blocks_[number]; }
  // Of the live block in whose mapping an address lies; 0 for none.
  std::uint32_t find(CUdeviceptr address) noexcept;
  std::uint32_t find_any(CUdeviceptr address) noexcept; // also of one that is being freed
  std::uint32_t most() const noexcept { return used_; } // numbers of blocks are at most this

private:
  static constexpr std::uint32_t kMostBlocks = 1 << 20;
  AddressSpace space_;
  GuardBlock* blocks_ = nullptr;
  std::uint32_t used_ = 0, free_ = 0;
};

extern GuardBlocks guard_blocks;

} // namespace gmt::interposer
