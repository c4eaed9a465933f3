// SPDX-License-Identifier: Apache-2.0
// What is known of the process while it is recorded, and the two scopes that a hooked call opens:
// Call for a driver row, RuntimeCall for a runtime row. The parts are call_path.h (what a driver
// call runs through), process.h (start, fork, trace directory), thread_log.h (records),
// stack_interner.h (call stacks) and object_files.h (object files).
#pragma once

#include <cstdint>
#include <string_view>

#include "interposer/log/record.h"
#include "trace/api_id.h"

namespace gmt::interposer {

class ThreadLog;
class Call;
struct LaunchRequest;

// A runtime call in progress on this thread: lends its name and copy kind to the driver calls
// inside it. Kept in thread-local storage, because a call that longjmp or an exception left behind
// leaves nothing valid on the stack.
struct RuntimeScope {
  const void* frame; // of the entry; a scope below the current frame has been left
  // Lies in the entry's frame and holds `serial` while the call is in progress
  const std::uint64_t* mark;
  std::uint64_t serial;
  std::uint16_t row;
  std::uint16_t kind_flags;
  bool driver_seen;
  bool driver_failed; // one of them: what the runtime answers then is known
};
inline constexpr unsigned kMaxRuntimeScopes = 6; // deeper calls lend nothing

// The innermost driver call in progress on this thread.
struct DriverScope {
  const void* frame; // null if there is none
  std::uint16_t row;
  const Call* call; // lives while it is in progress
};

struct ThreadState {
  std::uint32_t runtime_depth;
  std::uint64_t serial;
  DriverScope driver;
  RuntimeScope runtime[kMaxRuntimeScopes];
};

// One driver call: begin() decides whether it is recorded, publish_in_flight() commits it before
// the real call, complete() patches it after; the other members of a batch follow then. Nothing is
// held in between but this object on the caller's stack.
class Call {
public:
  Call(std::uint16_t row, const void* caller, const void* frame) noexcept
      : caller_(caller), frame_(frame), row_(row) {}

  // False if this call is part of another: it goes to driver_own_function(), unrecorded.
  bool begin(bool recorded) noexcept;
  // `records` is what the call will make in all: a batch's later members take their numbers in the
  // order now.
  void publish_in_flight(unsigned records = 1) noexcept;
  // `changed`: the record's words are no longer those that were published.
  void complete(std::uint16_t result, bool changed) noexcept;
  // The three of them as part of the caller, which knows the record's kind unless it is kNone:
  // call_path.h.
  bool begin_here(bool recorded) noexcept;
  template <trace::Kind Known> void publish_here(unsigned records) noexcept;
  template <trace::Kind Known> void complete_here(std::uint16_t result, bool changed) noexcept;
  // After complete(), for each further member of a batch: begin_member(), fill the record,
  // add_member().
  void begin_member() noexcept;
  void add_member(unsigned index, std::uint16_t result) noexcept;
  // After complete(), of a launch that was refused: what it asked for and what its kernel may have.
  void note_limits(const LaunchRequest& request) noexcept;
  // The order that its record has while it is in progress; 0 if it gets one later, or has none.
  std::uint64_t order() const noexcept { return record.order_at == OrderAt::kBefore ? order_ : 0; }

  Record record;

private:
  bool is_part_of_outer(const RuntimeScope* runtime) noexcept;
  template <trace::Kind Known> void settle_flags() noexcept;
  template <trace::Kind Known> void add_outcome(std::uint16_t result, bool changed) noexcept;
  template <trace::Kind Known> bool has_facts(std::uint16_t result) const noexcept;
  void note_driver_failure() noexcept; // why what its call answers is no success
  void note_facts(std::uint16_t result) noexcept;

  const void* caller_;
  const void* frame_;
  ThreadLog* log_ = nullptr;
  trace::Slot* slot_ = nullptr; // null if the record was dropped and counted
  std::uint64_t head_ = 0;      // without a result
  DriverScope outer_{};
  std::uint64_t order_ = 0; // of the first record
  std::uint64_t time_ = 0;
  std::uint64_t notified_ = 0;     // what the collector answered before the call
  std::uint16_t common_flags_ = 0; // of all members
  std::uint16_t context_ = 0;      // where there are several
  std::uint16_t via_ = trace::kNoApi;
  std::uint16_t row_;
};

// One runtime call. Writes a record of its own only if no driver call followed, or if none of those
// failed and it did. Such a call waited for nothing, so it is not timed.
class RuntimeCall {
public:
  RuntimeCall(std::uint16_t row, const void* frame) noexcept : frame_(frame), row_(row) {}
  // The same function is in progress already: another preload's wrapper of it calls on.
  bool is_repeated() const noexcept;
  void enter() noexcept;
  // Before leave(): whether the runtime itself refused the arguments.
  bool is_refused(std::uint16_t result) const noexcept;
  void leave(std::uint16_t result, const void* caller) noexcept;

  Record record;

private:
  const void* frame_;
  std::uint64_t mark_ = 0;
  std::uint32_t index_ = kMaxRuntimeScopes;
  std::uint16_t row_;
};

// The order of the driver call that this thread is inside of; 0 if there is none.
std::uint64_t order_of_call_in_progress() noexcept;

void begin_timing() noexcept; // when a session begins

// Whether this thread is inside a driver call, seen from its stack pointer.
bool is_inside_call(const void* stack) noexcept;

// The process's own last words (process_hooks.cpp) and similar records that are no CUDA call.
void record_exit(trace::ExitWay way, std::uint64_t status) noexcept;

// What the program said by other means than CUDA calls (nvtx*.cpp). No trace begins for it: nothing
// is recorded if none exists, and the log is null.
void record_call(Record& record, std::uint16_t api, const void* caller, const void* frame) noexcept;
std::uint64_t record_text(std::string_view text) noexcept; // its kText id, 0 if nothing is recorded

} // namespace gmt::interposer
