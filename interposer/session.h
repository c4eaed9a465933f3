// SPDX-License-Identifier: Apache-2.0
// What is known of the process while it is recorded, and the two scopes that a hooked call opens: Call for a driver
// row, RuntimeCall for a runtime row. Used by entry.h only; the parts are process.h (start, fork, trace directory),
// thread_log.h (records), stack.h (call stacks) and modules.h (object files).
#pragma once

#include <cstdint>

#include "interposer/record.h"
#include "trace/api_id.h"

namespace gmt::interposer {

class ThreadLog;

// A runtime call in progress on this thread: lends its name and copy kind to the driver calls inside it.
struct RuntimeScope {
  RuntimeScope* outer;
  const void* frame; // of the entry; a scope whose frame has been left by longjmp lies below the current one
  std::uint16_t row;
  std::uint16_t kind_flags;
  bool driver_seen;
};

// A driver call in progress on this thread, to recognise a wrapper library that calls the next same function.
struct DriverScope {
  DriverScope* outer;
  const void* frame;
  std::uint16_t row;
  std::uint64_t first_word;
};

struct ThreadState {
  ThreadLog* log;          // leased; null until this thread's first event
  std::uint32_t epoch;     // of the process's session that `log` belongs to
  RuntimeScope* runtime;
  DriverScope* driver;
};

// Whether a trace exists in this process; false before its first CUDA call and after fork.
bool session_is_on() noexcept;

// One driver call: begin() decides whether it is recorded, publish_in_flight() commits it before the real call,
// complete() patches it after. Nothing is held in between but this object on the caller's stack.
class Call {
public:
  Call(std::uint16_t row, const void* caller, const void* frame, std::uint64_t first_word) noexcept
      : caller_(caller), scope_{nullptr, frame, row, first_word} {}

  bool begin() noexcept;
  void publish_in_flight() noexcept;
  void complete(std::uint16_t result) noexcept;

  Record record;

private:
  void leave() noexcept;

  const void* caller_;
  DriverScope scope_;
  ThreadLog* log_ = nullptr;
  trace::Slot* slot_ = nullptr; // null if the record was dropped and counted
  std::uint32_t stack_ = 0;
  std::uint16_t via_ = trace::kNoApi;
};

// One runtime call. Writes a record of its own only if no driver call followed.
class RuntimeCall {
public:
  RuntimeCall(std::uint16_t row, const void* frame) noexcept : scope_{nullptr, frame, row, 0, false} {}
  void enter() noexcept;
  void leave(std::uint16_t result, const void* caller) noexcept;

  Record record;

private:
  RuntimeScope scope_;
};

// The process's own last words (process_hooks.cpp) and similar records that are no CUDA call.
void record_exit(trace::ExitWay way, std::uint64_t status) noexcept;

} // namespace gmt::interposer
