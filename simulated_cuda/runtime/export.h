// SPDX-License-Identifier: Apache-2.0
// What every runtime call goes through, and the state each thread has in the runtime.
// Recorded<...>::call keeps the thread's last error; Forward<...>::call passes the arguments on to
// a driver function: one for each row of runtime_api.def. Invariant: no exception leaves a
// runtime call; a nested call keeps the kind of default stream of the outer one.
#pragma once

#include "simulated_cuda/runtime/driver_calls.h"

#include <bit>
#include <new>
#include <type_traits>

namespace gmt::sim {

struct ThreadState {
  cudaError_t last_error;
  int device;
  bool device_chosen;       // cudaSetDevice was called
  bool per_thread_default;  // inside a _ptds or _ptsz call
  CUcontext context;        // what use_context() last made current here
  unsigned long generation; // of primary contexts, when it did
};

inline ThreadState& this_thread() {
  static thread_local ThreadState thread __attribute__((tls_model("initial-exec")));
  return thread;
}

// Makes a context current: the one that is, or the primary context of this thread's device.
// context.cpp.
cudaError_t use_context();

inline cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess) this_thread().last_error = error;
  return error;
}

class StreamKind {
public:
  explicit StreamKind(bool per_thread) : before_(this_thread().per_thread_default) {
    this_thread().per_thread_default = per_thread;
  }
  ~StreamKind() { this_thread().per_thread_default = before_; }
  StreamKind(const StreamKind&) = delete;
  StreamKind& operator=(const StreamKind&) = delete;

private:
  bool before_;
};

template <bool per_thread, auto function>
struct Recorded;

template <bool per_thread, class... Arguments, cudaError_t (*function)(Arguments...)>
struct Recorded<per_thread, function> {
  static cudaError_t CUDARTAPI call(Arguments... arguments) noexcept {
    const StreamKind kind(per_thread);
    try {
      return record(function(arguments...));
    } catch (const std::bad_alloc&) {
      return record(cudaErrorMemoryAllocation);
    }
  }
};

// Runtime and driver types of the same thing have the same representation: handles, pointers to
// equal structs, enums.
template <class To, class From>
To same_bits(From value) {
  if constexpr (std::is_class_v<From>) {
    return std::bit_cast<To>(value);
  } else if constexpr (std::is_pointer_v<From> || std::is_pointer_v<To>) {
    // A cast that may drop const, change the pointee, or turn a pointer into a CUdeviceptr
    return (To)value;
  } else {
    return static_cast<To>(value);
  }
}

template <bool per_thread, bool needs_context, class Runtime, auto member>
struct Forward;

template <bool per_thread, bool needs_context, class... R, class... D,
          CUresult (*DriverCalls::*member)(D...)>
struct Forward<per_thread, needs_context, cudaError_t (*)(R...), member> {
  static_assert(sizeof...(R) == sizeof...(D));
  static cudaError_t CUDARTAPI call(R... arguments) noexcept {
    const StreamKind kind(per_thread);
    const cudaError_t ready = needs_context ? use_context() : load_driver();
    if (ready != cudaSuccess) return record(ready);
    return record(to_runtime((driver().*member)(same_bits<D>(arguments)...)));
  }
};

} // namespace gmt::sim
