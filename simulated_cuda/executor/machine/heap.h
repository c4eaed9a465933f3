// SPDX-License-Identifier: Apache-2.0
// The heap of malloc() in kernels: first fit over one range of device memory. Blocks lie apart by a
// gap, and a freed one rests in a quarantine of a quarter of the heap before its bytes serve again,
// unless nothing else is left.
#pragma once

#include "simulated_cuda/executor/executor.h"

#include <deque>
#include <map>
#include <mutex>

namespace gmt::executor {

class Heap final : public DeviceHeap {
public:
  Heap(Memory& memory, std::uint64_t address, std::uint64_t bytes);
  ~Heap() override;

  std::uint64_t allocate(std::uint64_t bytes); // 0: no room
  enum class Freed : std::uint8_t { kDone, kInvalid, kTwice };
  Freed release(std::uint64_t address, std::uint64_t* bytes);

  bool block_at(std::uint64_t address, std::uint64_t* begin, std::uint64_t* bytes,
                bool* is_freed) const override;
  std::uint64_t alive_bytes() const override { return alive_; }
  std::uint64_t capacity() const { return bytes_; }
  // For allocate() and release() while a kernel runs; block_at() takes it itself.
  std::mutex& mutex() { return mutex_; }

private:
  struct HeapBlock {
    std::uint64_t bytes = 0; // asked for
    bool is_freed = false;
  };
  bool take_hole(std::uint64_t room, std::uint64_t* address);
  void give_back(std::uint64_t address, const HeapBlock& block);
  bool shrink_quarantine();

  mutable std::mutex mutex_;
  Memory& memory_;
  std::uint64_t address_, bytes_, alive_ = 0, resting_ = 0;
  std::map<std::uint64_t, HeapBlock> blocks_;    // alive and resting
  std::map<std::uint64_t, std::uint64_t> holes_; // address -> bytes
  std::deque<std::uint64_t> quarantine_;
};

} // namespace gmt::executor
