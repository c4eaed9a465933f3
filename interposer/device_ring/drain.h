// SPDX-License-Identifier: Apache-2.0
// Moves records of kernels from the rings into device-<n>.log while they run: one thread of ours,
// started with the first ring, and the threads that end a context or the process.
//
// Invariants: makes no CUDA call; a record is in the log before its slots are given back; a ring is
// read by one thread at a time; what the log cannot take is counted there and given back all the
// same, so that no kernel waits for a full disk.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/device_ring/memory.h"

namespace gmt::interposer {

class ThreadLog;

struct Ring {
  // Kept by ring.cpp.
  enum class State : std::uint8_t {
    kNone,
    kLive,
    kSpare,
    kRefused
  }; // kRefused: this context could be given none
  std::atomic<State> state{State::kNone};
  std::uint64_t context = 0; // CUcontext
  std::uint16_t id = 0;      // kContext
  int device = 0;
  RingMemory memory;
  std::uint64_t control = 0, stream = 0; // the DeviceControl's address and a private stream

  // Kept by the drain.
  ThreadLog* log = nullptr; // made when there is something to write
  // It could not be: records are passed over, so that no kernel waits for room
  bool without_log = false;
  std::uint64_t lost = 0; // by kernels, as last recorded
};

inline constexpr unsigned kMaxRings = 64;
extern Ring rings[kMaxRings];

bool start_drain_thread() noexcept; // false if there can be none
// Makes it live: its memory is read from now on.
void begin_draining(Ring& ring) noexcept;
// The context has ended: what it left is moved, torn slots are passed over, the ring is a spare
// one.
void end_draining(Ring& ring) noexcept;
// All live rings, now. The process or a context is about to end.
void drain_rings() noexcept;
// Kernels that may leave records are about to start: the thread should look often.
void expect_records() noexcept;
void forget_drain() noexcept; // a forked child has neither thread nor rings

} // namespace gmt::interposer
