// SPDX-License-Identifier: Apache-2.0
// The scopes of hooked calls: see call.h, and call_path.h for what all calls run through.
#include "interposer/calls/call.h"

#include "interposer/base/options.h"
#include "interposer/base/own_stack.h"
#include "interposer/calls/call_path.h"
#include "interposer/device_ring/ring.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/driver_state/device_facts.h"
#include "interposer/driver_state/host_blocks.h"
#include "interposer/loader/object_files.h"
#include "interposer/log/interned_text.h"
#include "trace/object_class.h"

namespace gmt::interposer {

constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec"))) = {};

constinit std::atomic<bool> times_launches{false};

void begin_timing() noexcept { times_launches.store(is_device_simulated()); }

namespace {

// Contexts that come and go, with what the tool keeps for them.
[[gnu::noinline]] void follow_contexts(ThreadLog& log, const Record& record) noexcept {
  const trace::LifeView life(record);
  const trace::ObjectClass object = life.object();
  const trace::LifeOp op = life.op();
  if (object == trace::ObjectClass::kContext) {
    if (op == trace::LifeOp::kCreate) {
      note_context(life.handle());
      current_context(log); // it is current now, so its device is recorded
      context_was_made(life.handle());
    }
    if (op == trace::LifeOp::kDestroy) {
      context_has_ended(life.handle());
      retire_all_memory();
    }
  } else if (object == trace::ObjectClass::kPrimaryContext) {
    const auto device = static_cast<int>(life.device());
    if (op == trace::LifeOp::kRetain) {
      describe_device(log, device); // a runtime's first step: known before any memory is
      note_context(life.context());
      context_was_made(life.context());
    } else if (op == trace::LifeOp::kRelease || op == trace::LifeOp::kReset) {
      primary_context_was_left(device, op == trace::LifeOp::kReset);
      if (op == trace::LifeOp::kReset) retire_all_memory();
    }
  }
}

} // namespace

// Calls from inside a driver call are calls of their own (a callback's, a signal handler's), but
// for two cases.
bool Call::is_part_of_outer(const RuntimeScope* runtime) noexcept {
  // What our innermost entry called jumped on to us: the driver did, or a runtime, whose call this
  // is then.
  if (is_own_code(caller_) && (runtime == nullptr || outer_.frame < runtime->frame)) return true;
  if (!has_wrapper(outer_.row)) return false;
  if (outer_.row == row_) return true; // another preload's wrapper calls on
  record.flags = trace::kFlagNested;   // or does its work with other functions
  return false;
}

bool Call::begin(bool recorded) noexcept { return begin_here(recorded); }
void Call::publish_in_flight(unsigned records) noexcept {
  publish_here<trace::Kind::kNone>(records);
}
void Call::complete(std::uint16_t result, bool changed) noexcept {
  complete_here<trace::Kind::kNone>(result, changed);
}

[[gnu::cold]] void Call::note_driver_failure() noexcept {
  if (RuntimeScope* runtime = runtime_scope(thread_state, frame_)) runtime->driver_failed = true;
}

void Call::begin_member() noexcept {
  record.reset();
  record.flags = common_flags_;
}

// The duration stands with the first member only, so that a sum counts it once.
void Call::add_member(unsigned index, std::uint16_t result) noexcept {
  settle_flags<trace::Kind::kNone>();
  if (log_ == nullptr || leaves_out(record, 0)) return; // counted with the first
  look_for_host_memory(*log_, record);
  std::uint32_t stack = 0;
  trace::Slot* slot = take_slot(*log_, record, caller_, frame_, stack);
  if (slot == nullptr) return;
  fill(slot, record, {order_ + index, time_, stack, context_, via_});
  ThreadLog::commit(slot, trace::with_result(head_of(record, row_), result));
}

// What the trace should know beside the call itself.
void Call::note_facts(std::uint16_t result) noexcept {
  if (result == 0 && concerns_host_memory(record)) follow_host_memory(record);
  if (result == 0 && concerns_retired_memory(record)) follow_retired_memory(record);
  constexpr std::uint16_t kOutOfMemory = 2; // CUDA_ERROR_OUT_OF_MEMORY
  if (record.kind == trace::Kind::kAlloc && result == kOutOfMemory) [[unlikely]] {
    append_memory_info(*log_, current_context(*log_));
  } else if (record.kind == trace::Kind::kLife && result == 0) {
    with_room([this](bool) noexcept { follow_contexts(*log_, record); });
  }
}

[[gnu::cold]] void Call::note_limits(const LaunchRequest& request) noexcept {
  if (slot_ == nullptr) return;
  const std::uint64_t function = trace::LaunchView(record).function();
  with_room([&](bool) noexcept { append_launch_limits(*log_, order_, function, request); });
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
  t.runtime_depth = index_ + 1; // a signal handler from here on takes the one above
  __atomic_store_n(&mark_, ++t.serial, __ATOMIC_RELAXED);
  t.runtime[index_] = {frame_,
                       &mark_,
                       mark_,
                       row_,
                       static_cast<std::uint16_t>(record.flags & trace::kCopyDeclaredKind),
                       false,
                       false};
  t.runtime_depth = index_ + 1; // a handler that found the half-written scope has taken it away
}

bool RuntimeCall::is_refused(std::uint16_t result) const noexcept {
  constexpr std::uint16_t kInvalidValue = 1; // cudaErrorInvalidValue
  return result == kInvalidValue && index_ < kMaxRuntimeScopes &&
         !thread_state.runtime[index_].driver_failed;
}

void RuntimeCall::leave(std::uint16_t result, const void* caller) noexcept {
  ThreadState& t = thread_state;
  if (index_ >= kMaxRuntimeScopes) return;
  __atomic_store_n(&mark_, 0, __ATOMIC_RELAXED);
  const RuntimeScope scope = t.runtime[index_];
  t.runtime_depth = index_;
  if (scope.driver_seen && index_ != 0) {
    t.runtime[index_ - 1].driver_seen = true;
    t.runtime[index_ - 1].driver_failed |= result != 0; // or recorded here
  }
  if (scope.driver_seen && (result == 0 || scope.driver_failed)) return;
  ThreadLog* log = thread_log();
  if (log == nullptr || leaves_out(record)) return;
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

// The caller is called by the driver, whose entry is then this thread's innermost.
std::uint64_t order_of_call_in_progress() noexcept {
  const DriverScope& scope = thread_state.driver;
  const bool is_live = scope.frame > __builtin_frame_address(0);
  return is_live ? scope.call->order() : 0;
}

bool is_inside_call(const void* stack) noexcept { return thread_state.driver.frame > stack; }

void record_exit(trace::ExitWay way, std::uint64_t status) noexcept {
  if (!Process::is_on()) return;
  ThreadLog* log = thread_log();
  if (log == nullptr) return;
  write_unrecorded_calls(*log);
  Record record;
  record.kind = trace::Kind::kExit;
  record.use(trace::kFirstPayloadWords);
  trace::ExitFields(record).way(way).status(status);
  log->append(record, trace::kNoApi);
}

void record_call(Record& record, std::uint16_t api, const void* caller,
                 const void* frame) noexcept {
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
