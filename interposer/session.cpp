// SPDX-License-Identifier: Apache-2.0
// The scopes of hooked calls: see session.h. The hot path of the whole tool; what it does not do matters most:
// no lock, no allocation, no system call (but on the slow paths of ThreadLog and Process).
#include "interposer/session.h"

#include "interposer/coalescing.h"
#include "interposer/context.h"
#include "interposer/device_facts.h"
#include "interposer/device_ring.h"
#include "interposer/host_free.h"
#include "interposer/modules.h"
#include "interposer/nvtx_ranges.h"
#include "interposer/process.h"
#include "interposer/resolve.h"
#include "interposer/stack.h"
#include "interposer/texts.h"
#include "interposer/thread_log.h"

namespace gmt::interposer {

namespace {

constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec"))) = {};

// Whether a runtime call is still in progress, seen from `frame`. One that was left by longjmp or an exception lies
// below the frame, or its mark has been overwritten since. The mark is read only where this stack surely is mapped:
// a handler on a stack of its own judges by the frame alone.
bool is_live(const RuntimeScope& scope, const void* frame) noexcept {
  constexpr std::uint64_t kSurelyThisStack = 1 << 20;
  const auto above = reinterpret_cast<std::uint64_t>(scope.frame) - reinterpret_cast<std::uint64_t>(frame);
  if (static_cast<std::int64_t>(above) <= 0) return false;
  return above > kSurelyThisStack || __atomic_load_n(scope.mark, __ATOMIC_RELAXED) == scope.serial;
}

// The innermost runtime call in progress, null if there is none.
inline RuntimeScope* runtime_scope(ThreadState& t, const void* frame) noexcept {
  while (t.runtime_depth != 0 && !is_live(t.runtime[t.runtime_depth - 1], frame)) --t.runtime_depth;
  return t.runtime_depth != 0 ? &t.runtime[t.runtime_depth - 1] : nullptr;
}

// This thread's log in the running session, starting either if needed; null if there can be none.
inline ThreadLog* thread_log() noexcept {
  ThreadState& t = thread_state;
  if (Process::is_current(t.epoch) && t.log != nullptr) [[likely]] return t.log;
  return t.log = Process::enter_thread(t.epoch);
}

// A slot for the record and the id of its call stack. Stack ids are per file, so a log that began another file
// between the two takes both again; the first slot is marked as given up.
[[gnu::always_inline]] inline trace::Slot* take_slot(ThreadLog& log, Record& record, const void* caller,
                                                     const void* frame, std::uint32_t& stack) noexcept {
  const unsigned slots = trace::slots_for(record.words);
  for (;;) {
    write_ranges(log);
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

struct Stamp {
  std::uint64_t order, time;
  std::uint32_t stack;
  std::uint16_t context, via;
};

// All of a record but its head, which comes last.
inline void fill(trace::Slot* slot, const Record& record, const Stamp& stamp) noexcept {
  slot->order = stamp.order;
  slot->time = stamp.time;
  slot->stack = stamp.stack;
  slot->context = stamp.context;
  slot->via = stamp.via;
  ThreadLog::fill(slot, record);
}

// Without a result.
std::uint64_t head_of(const Record& record, std::uint16_t api) noexcept {
  return trace::pack({record.kind, static_cast<std::uint8_t>(trace::slots_for(record.words)), api, record.flags, 0});
}

// Contexts that come and go, with what the tool keeps for them.
void follow_contexts(ThreadLog& log, const Record& record) noexcept {
  const auto object = static_cast<trace::ObjectClass>(record.w[1]);
  const auto op = static_cast<trace::LifeOp>(record.w[2]);
  if (object == trace::ObjectClass::kContext) {
    if (op == trace::LifeOp::kCreate) {
      note_context(record.w[0]);
      current_context(log); // it is current now: tells of its device
      context_was_made(record.w[0]);
    }
    if (op == trace::LifeOp::kDestroy) context_has_ended(record.w[0]);
  } else if (object == trace::ObjectClass::kPrimaryContext) {
    const auto device = static_cast<int>(record.w[0]);
    if (op == trace::LifeOp::kRetain) {
      describe_device(log, device); // a runtime's first step: known before any memory is
      note_context(record.w[3]);
      context_was_made(record.w[3]);
    } else if (op == trace::LifeOp::kRelease || op == trace::LifeOp::kReset) {
      primary_context_was_left(device, op == trace::LifeOp::kReset);
    }
  }
}

} // namespace

ThreadLog* session_log() noexcept { return thread_log(); }

bool session_is_on() noexcept { return Process::is_on(); }

void forget_thread_log() noexcept {
  thread_state.log = nullptr;
  forget_ranges_log();
}

// Calls from inside a driver call are calls of their own (a callback's, a signal handler's), but for two cases.
bool Call::is_part_of_outer(const RuntimeScope* runtime) noexcept {
  // What our innermost entry called jumped on to us: the driver did, or a runtime, whose call this is then.
  if (is_own_code(caller_) && (runtime == nullptr || outer_.frame < runtime->frame)) return true;
  if (!has_wrapper(outer_.row)) return false;
  if (outer_.row == row_) return true; // another preload's wrapper calls on
  record.flags = trace::kFlagNested;   // or does its work with other functions
  return false;
}

bool Call::begin(bool recorded) noexcept {
  ThreadState& t = thread_state;
  RuntimeScope* const runtime = runtime_scope(t, frame_);
  outer_ = t.driver;
  if (outer_.frame <= frame_) outer_ = {}; // left by longjmp
  if (caller_is_driver(caller_)) return false; // the driver calls its own exports through the loader
  if (is_profilers_call(caller_)) [[unlikely]] return false;
  if (outer_.frame != nullptr && is_part_of_outer(runtime)) [[unlikely]] return false;
  t.driver = {frame_, row_};
  if (!recorded) return true;
  log_ = thread_log();
  if (runtime != nullptr) {
    runtime->driver_seen = true;
    via_ = runtime->row;
    record.flags |= runtime->kind_flags;
  }
  common_flags_ = record.flags;
  return true;
}

// Only copies carry a kind, and only if a runtime call declared it.
void Call::settle_flags() noexcept {
  if (record.kind != trace::Kind::kCopy || via_ == trace::kNoApi) record.flags &= static_cast<std::uint16_t>(~0xf00u);
}

void Call::publish_in_flight(unsigned records) noexcept {
  settle_flags();
  if (is_coalescing()) [[unlikely]] told_ = tell_before(record, row_);
  if (log_ == nullptr) return;
  // What an allocation belongs to is asked after the call, and virtual memory to none.
  if (has_several_contexts() && record.kind != trace::Kind::kAlloc) [[unlikely]] context_ = current_context(*log_);
  if (record.order_at == OrderAt::kBefore) Process::expect_order();
  if (record.is_wait()) [[unlikely]] log_->make_room_ahead();
  std::uint32_t stack = 0;
  slot_ = take_slot(*log_, record, caller_, frame_, stack);
  time_ = read_tsc();
  order_ = record.order_at == OrderAt::kBefore ? Process::next_orders(records) : Process::current_order();
  if (slot_ == nullptr) return;
  fill(slot_, record, {order_, time_, stack, context_, via_});
  head_ = head_of(record, row_);
  ThreadLog::commit(slot_, trace::with_result(head_, trace::kResultInFlight));
}

// The collector comes last: what it does may take milliseconds, which are none of the call's.
void Call::complete(std::uint16_t result, bool changed) noexcept {
  thread_state.driver = outer_;
  if (record.order_at == OrderAt::kAfter) Process::expect_order();
  if (result != 0) [[unlikely]] explain_to_runtime();
  if (slot_ != nullptr) [[likely]] {
    const bool launch = record.kind == trace::Kind::kLaunch; // nothing to add
    if (!launch) add_outcome(result, changed);
    ThreadLog::prefetch_behind(slot_ + trace::unpack(head_).slots);
    ThreadLog::commit(slot_, trace::with_result(head_, result));
    if (!launch) note_facts(result);
  }
  if (told_ != 0) [[unlikely]] tell_after(record, row_, told_, result == 0);
}

[[gnu::cold]] void Call::explain_to_runtime() noexcept {
  if (RuntimeScope* runtime = runtime_scope(thread_state, frame_)) runtime->driver_failed = true;
}

void Call::add_outcome(std::uint16_t result, bool changed) noexcept {
  const std::uint64_t ticks = record.is_timed() ? read_tsc() - time_ : 0;
  if (changed) {
    ThreadLog::fill(slot_, record);
    head_ = head_of(record, row_);
  }
  if (record.order_at == OrderAt::kAfter) {
    if (needs_context(record, result)) slot_->context = current_context(*log_);
    slot_->order = trace::with_ticks(Process::next_order(), ticks);
  } else if (ticks != 0) {
    slot_->order = trace::with_ticks(order_, ticks);
  }
}

void Call::begin_member() noexcept {
  record.reset();
  record.flags = common_flags_;
}

// The duration stands with the first member only, so that a sum counts it once.
void Call::add_member(unsigned index, std::uint16_t result) noexcept {
  settle_flags();
  if (log_ == nullptr) return;
  std::uint32_t stack = 0;
  trace::Slot* slot = take_slot(*log_, record, caller_, frame_, stack);
  if (slot == nullptr) return;
  fill(slot, record, {order_ + index, time_, stack, context_, via_});
  ThreadLog::commit(slot, trace::with_result(head_of(record, row_), result));
}

// What the trace should know beside the call itself.
void Call::note_facts(std::uint16_t result) noexcept {
  if (result == 0 && concerns_host_memory(record)) follow_host_memory(record);
  constexpr std::uint16_t kOutOfMemory = 2; // CUDA_ERROR_OUT_OF_MEMORY
  if (record.kind == trace::Kind::kAlloc && result == kOutOfMemory) [[unlikely]] {
    append_memory_info(*log_, current_context(*log_));
  } else if (record.kind == trace::Kind::kLife && result == 0) {
    follow_contexts(*log_, record);
  }
}

bool RuntimeCall::is_repeated() const noexcept {
  const RuntimeScope* outer = runtime_scope(thread_state, frame_);
  return outer != nullptr && outer->row == row_;
}

void RuntimeCall::enter() noexcept {
  ThreadState& t = thread_state;
  runtime_scope(t, frame_);
  if (t.runtime_depth >= kMaxRuntimeScopes) return;
  index_ = t.runtime_depth;
  t.runtime_depth = index_ + 1; // a signal handler from here on takes the place above
  __atomic_store_n(&mark_, ++t.serial, __ATOMIC_RELAXED);
  t.runtime[index_] = {frame_, &mark_, mark_, row_, static_cast<std::uint16_t>(record.flags & 0xf00), false, false};
  t.runtime_depth = index_ + 1; // a handler that found the half-written scope has taken it away
}

bool RuntimeCall::is_refused(std::uint16_t result) const noexcept {
  constexpr std::uint16_t kInvalidValue = 1; // cudaErrorInvalidValue
  return result == kInvalidValue && index_ < kMaxRuntimeScopes && !thread_state.runtime[index_].driver_failed;
}

void RuntimeCall::leave(std::uint16_t result, const void* caller) noexcept {
  ThreadState& t = thread_state;
  if (index_ >= kMaxRuntimeScopes) return;
  __atomic_store_n(&mark_, 0, __ATOMIC_RELAXED);
  const RuntimeScope scope = t.runtime[index_];
  t.runtime_depth = index_;
  if (scope.driver_seen && index_ != 0) {
    t.runtime[index_ - 1].driver_seen = true;
    t.runtime[index_ - 1].driver_failed |= result != 0; // or told of here
  }
  if (scope.driver_seen && (result == 0 || scope.driver_failed)) return;
  ThreadLog* log = thread_log();
  if (log == nullptr) return;
  record.flags |= trace::kFlagRuntime;
  record.droppable = true;
  std::uint32_t stack = 0;
  trace::Slot* slot = take_slot(*log, record, caller, frame_, stack);
  if (slot == nullptr) return;
  fill(slot, record, {Process::next_order(), read_tsc(), stack, 0, row_});
  ThreadLog::commit(slot, trace::with_result(head_of(record, row_), result));
  // A wrapper library's call of the same function is the same call.
  if (index_ == 0 || t.runtime[index_ - 1].row != row_) return;
  t.runtime[index_ - 1].driver_seen = true;
  t.runtime[index_ - 1].driver_failed |= result != 0;
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

ThreadLog* current_log() noexcept { return Process::is_on() ? thread_log() : nullptr; }

void record_call(Record& record, std::uint16_t api, const void* caller, const void* frame) noexcept {
  ThreadLog* log = current_log();
  if (log == nullptr) return;
  std::uint32_t stack = 0;
  trace::Slot* slot = take_slot(*log, record, caller, frame, stack);
  if (slot == nullptr) return;
  fill(slot, record, {Process::next_order(), read_tsc(), stack, 0, trace::kNoApi});
  ThreadLog::commit(slot, head_of(record, api));
}

std::uint64_t record_text(std::string_view text) noexcept {
  ThreadLog* log = current_log();
  return log != nullptr ? append_text(*log, text) : 0;
}

} // namespace gmt::interposer
