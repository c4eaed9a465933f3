// SPDX-License-Identifier: Apache-2.0
// What every driver call goes through: Entry<row, need, per_thread, function>::call is where an
// exported symbol jumps, one for each row of driver_api.def. It takes the lock, refuses calls from
// host functions, checks cuInit, the current context and its sticky error, and turns an exhausted
// host heap into CUDA_ERROR_OUT_OF_MEMORY. Invariant: no exception leaves a driver call.
#pragma once

#include "simulated_cuda/driver/state/lock.h"
#include "simulated_cuda/driver/state/state.h"
#include "simulated_cuda/driver/streams/late.h"

#include <cuda.h>

#include <new>
#include <type_traits>

namespace gmt::sim {

// kThreadOnly: like kInit, for calls that only look at the calling thread's own state and therefore
// take no lock: the runtime asks for the current context before every call.
enum Need : unsigned char { kNothing, kThreadOnly, kInit, kContext };

CUresult check_entry(unsigned row, Need need);

template <unsigned row, Need need, bool per_thread, auto function>
struct Entry;

template <unsigned row, Need need, bool per_thread, class... Arguments,
          CUresult (*function)(Arguments...)>
struct Entry<row, need, per_thread, function> {
  static CUresult CUDAAPI call(Arguments... arguments) noexcept {
    [[maybe_unused]] std::conditional_t<need == kThreadOnly, char, DriverLock> lock{};
    if (CUresult refused = check_entry(row, need); refused != CUDA_SUCCESS) return refused;
    ThreadState& thread = this_thread();
    thread.per_thread_default = per_thread;
    thread.row = row;
    try {
      return function(arguments...);
    } catch (const std::bad_alloc&) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
};

// What the call that the thread is in means for late work.
Timing timing_of_call();

// Refuses the call that the thread is in, and says so to the observer: `what` of it is not
// implemented here.
CUresult not_simulated(const char* what);

} // namespace gmt::sim
