// SPDX-License-Identifier: Apache-2.0
// The scopes of hooked calls: see session.h. The hot path of the whole tool; what it does not do matters most:
// no lock, no allocation, no system call (but on the slow paths of ThreadLog and Process).
#include "interposer/session.h"

#include "interposer/context.h"
#include "interposer/process.h"
#include "interposer/resolve.h"
#include "interposer/stack.h"
#include "interposer/thread_log.h"

namespace gmt::interposer {

namespace {

constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec"))) = {};

// Scopes whose frame is at or below the current one were left without their epilogue (longjmp, a thrown exception).
template <class Scope> Scope* live_scope(Scope* scope, const void* frame) noexcept {
  while (scope != nullptr && scope->frame <= frame) scope = scope->outer;
  return scope;
}

// This thread's log in the running session, starting either if needed; null if there can be none.
inline ThreadLog* thread_log() noexcept {
  ThreadState& t = thread_state;
  if (Process::is_current(t.epoch) && t.log != nullptr) [[likely]] return t.log;
  return t.log = Process::enter_thread(t.epoch);
}

// A slot for the record and the id of its call stack. Stack ids are per file, so a log that began another file
// between the two takes both again; the first slot is marked as given up.
trace::Slot* take_slot(ThreadLog& log, Record& record, const void* caller, const void* frame,
                       std::uint32_t& stack) noexcept {
  const unsigned slots = trace::slots_for(record.words);
  for (;;) {
    const std::uint32_t file = log.file();
    stack = log.stacks().here(log, caller, frame);
    trace::Slot* slot = log.reserve(slots, record.droppable);
    if (slot == nullptr || log.file() == file) {
      if (stack == 0) record.flags |= trace::kFlagNoStack;
      return slot;
    }
    log.abandon(slot, slots);
  }
}

void fill(trace::Slot& slot, const Record& record) noexcept {
  for (unsigned i = 0; i < trace::kFirstPayloadWords; ++i) slot.a[i] = record.w[i];
}

trace::Head head_of(const Record& record, std::uint16_t api, std::uint16_t result) noexcept {
  return {record.kind, static_cast<std::uint8_t>(trace::slots_for(record.words)), api, record.flags, result};
}

} // namespace

bool session_is_on() noexcept { return Process::is_on(); }

void forget_thread_log() noexcept { thread_state.log = nullptr; }

bool Call::begin() noexcept {
  if (caller_is_driver(caller_)) return false; // the driver calls its own exports: one call, seen already
  ThreadState& t = thread_state;
  const DriverScope* outer = t.driver = live_scope(t.driver, scope_.frame);
  if (outer != nullptr && outer->row == scope_.row && outer->first_word == scope_.first_word) return false;
  log_ = thread_log();
  if (log_ == nullptr) return false;
  t.runtime = live_scope(t.runtime, scope_.frame);
  if (t.runtime != nullptr) {
    t.runtime->driver_seen = true;
    via_ = t.runtime->row;
    record.flags = t.runtime->kind_flags;
  }
  if (outer != nullptr) record.flags |= trace::kFlagNested;
  scope_.outer = t.driver;
  t.driver = &scope_;
  return true;
}

void Call::publish_in_flight() noexcept {
  if (record.kind == trace::Kind::kCopy) {
    if (via_ == trace::kNoApi) record.flags &= static_cast<std::uint16_t>(~0xf00u);
  } else {
    record.flags &= static_cast<std::uint16_t>(~0xf00u); // only copies carry a kind
  }
  slot_ = take_slot(*log_, record, caller_, scope_.frame, stack_);
  if (slot_ == nullptr) return;
  slot_->order = record.order_at == OrderAt::kBefore ? Process::next_order() : Process::current_order();
  slot_->time = read_tsc();
  slot_->stack = stack_;
  slot_->context = 0;
  slot_->via = via_;
  fill(*slot_, record);
  log_->commit(slot_, record, head_of(record, scope_.row, trace::kResultInFlight));
}

void Call::complete(std::uint16_t result) noexcept {
  leave();
  if (slot_ == nullptr) return;
  fill(*slot_, record);
  if (record.order_at == OrderAt::kAfter) {
    if (result == 0 && needs_context(record)) slot_->context = current_context(*log_);
    slot_->order = Process::next_order();
  }
  log_->commit(slot_, record, head_of(record, scope_.row, result));
}

void Call::leave() noexcept { thread_state.driver = scope_.outer; }

void RuntimeCall::enter() noexcept {
  ThreadState& t = thread_state;
  scope_.kind_flags = record.flags & 0xf00;
  scope_.outer = live_scope(t.runtime, scope_.frame);
  t.runtime = &scope_;
}

void RuntimeCall::leave(std::uint16_t result, const void* caller) noexcept {
  ThreadState& t = thread_state;
  t.runtime = scope_.outer;
  if (scope_.driver_seen) {
    if (scope_.outer != nullptr) scope_.outer->driver_seen = true;
    return;
  }
  ThreadLog* log = thread_log();
  if (log == nullptr) return;
  record.flags |= trace::kFlagRuntime;
  record.droppable = true;
  std::uint32_t stack = 0;
  trace::Slot* slot = take_slot(*log, record, caller, scope_.frame, stack);
  if (slot == nullptr) return;
  slot->order = Process::next_order();
  slot->time = read_tsc();
  slot->stack = stack;
  slot->context = 0;
  slot->via = scope_.row;
  fill(*slot, record);
  log->commit(slot, record, head_of(record, scope_.row, result));
}

void record_exit(trace::ExitWay way, std::uint64_t status) noexcept {
  if (!Process::is_on()) return;
  ThreadLog* log = thread_log();
  if (log == nullptr) return;
  Record record;
  record.kind = trace::Kind::kExit;
  record.use(2 + 2);
  record.set(0, static_cast<std::uint64_t>(way));
  record.set(1, status);
  log->append(record, trace::kNoApi);
}

} // namespace gmt::interposer
