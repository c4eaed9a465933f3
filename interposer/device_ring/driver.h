// SPDX-License-Identifier: Apache-2.0
// What ring.cpp and modules.cpp share: the driver's own functions, and the turn in which one thread at a time calls
// them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/fork_guard.h"
#include "interposer/base/signal_guard.h"
#include "interposer/device_ring/drain.h"

namespace gmt::interposer {

class ThreadLog;

struct Driver {
  int (*exchange_capture_mode)(int*);
  int (*push_context)(std::uint64_t);
  int (*pop_context)(std::uint64_t*);
  int (*context_device)(int*);
  int (*primary_state)(int, unsigned*, int*);
  int (*register_host)(void*, std::size_t, unsigned);
  int (*unregister_host)(void*);
  int (*device_pointer)(std::uint64_t*, void*, unsigned);
  int (*allocate)(std::uint64_t*, std::size_t);
  int (*release)(std::uint64_t);
  int (*make_stream)(std::uint64_t*, unsigned);
  int (*end_stream)(std::uint64_t);
  int (*copy)(std::uint64_t, const void*, std::size_t, std::uint64_t);
  int (*is_done)(std::uint64_t);
  int (*module_of)(std::uint64_t*, std::uint64_t);
  int (*variable)(std::uint64_t*, std::size_t*, std::uint64_t, const char*);
  int (*function_of)(std::uint64_t*, std::uint64_t); // of a CUkernel; null before CUDA 12
};
extern Driver driver; // in a turn

// One thread at a time makes, hands over and ends rings: the second of two that launch kernels of one module must not go on
// before the module has its ring. The turn is held over CUDA calls, so waiting for it is bounded, and who does not get it
// goes on without. The thread's capture mode is relaxed meanwhile.
class Turn {
public:
  Turn() noexcept;
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool ready() const noexcept { return ready_; }
  static void forget() noexcept; // in a forked child

private:
  const SignalGuard signals_;
  const InsideLocks guard_;
  const BoundedLock lock_;
  bool ready_ = false;
  int capture_mode_;
};

// False if the stream's work failed, or takes longer than copies of ours ever should.
bool wait_for(std::uint64_t stream) noexcept;

// The live ring of the current context, made if there is none; null if it can have none. In a turn.
Ring* ring_of(ThreadLog& log, std::uint64_t context) noexcept;

} // namespace gmt::interposer
