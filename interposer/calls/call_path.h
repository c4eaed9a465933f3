// SPDX-License-Identifier: Apache-2.0
// What every recorded driver call runs through: the bodies of Call::begin(), publish_in_flight()
// and complete(). call.cpp makes functions of them for all rows; entry.h puts them straight into
// the entries of calls that come by the million, with the kind of the record known to the compiler.
// What they do not do matters most: no lock, no allocation, no system call (but on the slow paths
// of ThreadLog and Process).
#pragma once

#include "interposer/calls/call.h"
#include "interposer/calls/host_memory.h"
#include "interposer/coalescing/collector_client.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/driver_state/host_blocks.h"
#include "interposer/driver_state/host_watches.h"
#include "interposer/driver_state/unrecorded_blocks.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/log/nvtx_ranges.h"
#include "interposer/log/process.h"
#include "interposer/log/record_range.h"
#include "interposer/log/stack_interner.h"
#include "interposer/log/thread_log.h"
#include "interposer/log/thread_session.h"

namespace gmt::interposer {

extern constinit thread_local ThreadState thread_state
  __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The simulated device runs kernels in their launches: these are as long as the kernels ran.
extern std::atomic<bool> times_launches;

// Whether a runtime call is still in progress, seen from `frame`. One that was left by longjmp or
// an exception lies below the frame, or its mark has been overwritten since. The mark is read only
// where this stack surely is mapped: a handler on a stack of its own looks at the frame alone.
inline bool is_live(const RuntimeScope& scope, const void* frame) noexcept {
  constexpr std::uint64_t kSurelyThisStack = 1 << 20;
  const auto above =
    reinterpret_cast<std::uint64_t>(scope.frame) - reinterpret_cast<std::uint64_t>(frame);
  if (static_cast<std::int64_t>(above) <= 0) return false;
  return above > kSurelyThisStack || __atomic_load_n(scope.mark, __ATOMIC_RELAXED) == scope.serial;
}

// The innermost runtime call in progress, null if there is none.
inline RuntimeScope* runtime_scope(ThreadState& t, const void* frame) noexcept {
  while (t.runtime_depth != 0 && !is_live(t.runtime[t.runtime_depth - 1], frame)) --t.runtime_depth;
  return t.runtime_depth != 0 ? &t.runtime[t.runtime_depth - 1] : nullptr;
}

// A slot for the record and the id of its call stack. Stack ids are per file, so a log that began
// another file between the two takes both again; the first slot is marked as given up.
[[gnu::always_inline]] inline trace::Slot* take_slot(ThreadLog& log, Record& record,
                                                     const void* caller, const void* frame,
                                                     std::uint32_t& stack) noexcept {
  const unsigned slots = trace::slots_for(record.words);
  write_unrecorded_calls(log);
  for (;;) {
    write_ranges(log);
    const std::uint32_t file = log.file();
    stack = log.stacks().here(log, caller, frame);
    trace::Slot* slot = log.reserve(slots, ThreadLog::worth_of(record));
    if (slot == nullptr || log.file() == file) [[likely]] {
      if (stack == 0) [[unlikely]]
        record.flags |= trace::kFlagNoStack;
      return slot;
    }
    log.abandon(slot, slots);
  }
}

// The same for a launch with arguments: those that another launch of the file has are not written
// again.
[[gnu::always_inline]] inline trace::Slot*
take_launch_slot(ThreadLog& log, Record& launch, const void* caller, const void* frame,
                 std::uint32_t& stack, KeptArguments::Choice& choice) noexcept {
  KeptArguments& kept = log.kept_arguments();
  const std::uint16_t words = launch.words, flags = launch.flags;
  const std::uint64_t extents = launch.w[trace::LaunchWord::block];
  for (;;) {
    choice = kept.choose(launch);
    launch.set(trace::LaunchWord::block, trace::with_arguments_number(extents, choice.number));
    if (choice.repeats) {
      launch.words = trace::LaunchWord::kCount;
      launch.flags = static_cast<std::uint16_t>((flags & ~trace::kLaunchScanned) |
                                                trace::kLaunchRepeatsArguments);
    } else {
      launch.flags = static_cast<std::uint16_t>(flags | trace::kLaunchKeepsArguments);
    }
    trace::Slot* slot = take_slot(log, launch, caller, frame, stack);
    if (slot == nullptr || !choice.repeats || kept.still_holds(choice)) [[likely]]
      return slot;
    log.abandon(slot, 1);
    launch.words = words;
    launch.flags = flags;
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
inline std::uint64_t head_of(const Record& record, std::uint16_t api) noexcept {
  return trace::pack(
    {record.kind, static_cast<std::uint8_t>(trace::slots_for(record.words)), api, record.flags, 0});
}

// `Known` is the record's kind where the compiler is to know it, kNone elsewhere. Of the known
// ones, only allocations take their order after the call, and releases are stream-ordered.
template <trace::Kind Known> inline bool is_kind(const Record& record, trace::Kind kind) noexcept {
  return Known != trace::Kind::kNone ? Known == kind : record.kind == kind;
}
template <trace::Kind Known> inline bool orders_after(const Record& record) noexcept {
  return Known != trace::Kind::kNone ? Known == trace::Kind::kAlloc
                                     : record.order_at == OrderAt::kAfter;
}
template <trace::Kind Known> inline bool is_timed(const Record& record) noexcept {
  return Known != trace::Kind::kNone ? Known != trace::Kind::kLaunch && Known != trace::Kind::kFree
                                     : record.is_timed();
}

[[gnu::always_inline]] inline bool Call::begin_here(bool recorded) noexcept {
  ThreadState& t = thread_state;
  RuntimeScope* const runtime = runtime_scope(t, frame_);
  outer_ = t.driver;
  if (outer_.frame <= frame_) outer_ = {}; // left by longjmp
  if (caller_is_driver(caller_)) [[unlikely]]
    return false; // the driver calls its own exports through the loader
  if (is_profilers_call(caller_)) [[unlikely]]
    return false;
  if (outer_.frame != nullptr && is_part_of_outer(runtime)) [[unlikely]]
    return false;
  t.driver = {frame_, row_, this};
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

// Only copies carry a kind, and only if a runtime call declared it; that of a graph's node has
// flags of its own.
template <trace::Kind Known> [[gnu::always_inline]] inline void Call::settle_flags() noexcept {
  if (Known == trace::Kind::kNone && record.kind == trace::Kind::kUse &&
      record.words > trace::UseWord::flags_of_copy) {
    record.w[trace::UseWord::flags_of_copy] |= record.flags & trace::kCopyDeclaredKind;
  }
  if (!is_kind<Known>(record, trace::Kind::kCopy) || via_ == trace::kNoApi) {
    record.flags &= static_cast<std::uint16_t>(~trace::kCopyDeclaredKind);
  }
}

template <trace::Kind Known> [[gnu::always_inline]] inline void
Call::publish_here(unsigned records) noexcept {
  settle_flags<Known>();
  if (is_coalescing()) [[unlikely]]
    notified_ = notify_before(record, row_);
  if (log_ == nullptr) [[unlikely]]
    return;
  if (!is_kind<Known>(record, trace::Kind::kAlloc) && leaves_out(record, records)) [[unlikely]]
    return;
  // What an allocation belongs to is asked after the call, and virtual memory to none.
  if (has_several_contexts() && !is_kind<Known>(record, trace::Kind::kAlloc)) [[unlikely]] {
    context_ = current_context(*log_);
  }
  const bool before = !orders_after<Known>(record);
  if (before) Process::expect_order();
  if (Known == trace::Kind::kNone && record.is_wait()) [[unlikely]]
    log_->make_room_ahead();
  if (Known == trace::Kind::kNone || Known == trace::Kind::kLaunch || Known == trace::Kind::kCopy)
    look_for_host_memory(*log_, record);
  std::uint32_t stack = 0;
  KeptArguments::Choice arguments;
  if (is_unrecorded(record)) [[unlikely]] {
    slot_ = log_->count_unneeded();
  } else if (is_kind<Known>(record, trace::Kind::kLaunch) &&
             record.words > trace::LaunchWord::kCount) {
    slot_ = take_launch_slot(*log_, record, caller_, frame_, stack, arguments);
  } else {
    slot_ = take_slot(*log_, record, caller_, frame_, stack);
  }
  time_ = read_tsc();
  order_ = before ? Process::next_orders(records) : Process::current_order();
  if (slot_ == nullptr) [[unlikely]]
    return;
  fill(slot_, record, {order_, time_, stack, context_, via_});
  head_ = head_of(record, row_);
  ThreadLog::commit(slot_, trace::with_result(head_, trace::kResultInFlight));
  if (arguments.number != 0 && !arguments.repeats) log_->kept_arguments().keep(arguments);
}

template <trace::Kind Known>
[[gnu::always_inline]] inline void Call::add_outcome(std::uint16_t result, bool changed) noexcept {
  const std::uint64_t ticks = is_timed<Known>(record) ? read_tsc() - time_ : 0;
  if (changed) {
    ThreadLog::fill(slot_, record);
    head_ = head_of(record, row_);
  }
  if (orders_after<Known>(record)) {
    if (needs_context(record, result)) slot_->context = current_context(*log_);
    slot_->order = trace::with_ticks(Process::next_order(), ticks);
  } else if (ticks != 0) {
    slot_->order = trace::with_ticks(order_, ticks);
  }
}

// The collector comes last: what it does may take milliseconds, which are none of the call's.
template <trace::Kind Known>
[[gnu::always_inline]] inline void Call::complete_here(std::uint16_t result,
                                                       bool changed) noexcept {
  thread_state.driver = outer_;
  if (orders_after<Known>(record)) Process::expect_order();
  if (result != 0) [[unlikely]]
    note_driver_failure();
  if (slot_ != nullptr) [[likely]] {
    const bool launch = is_kind<Known>(record, trace::Kind::kLaunch); // nothing to add
    if (!launch) add_outcome<Known>(result, changed);
    else if (times_launches.load(std::memory_order_relaxed)) [[unlikely]]
      slot_->order = trace::with_ticks(order_, read_tsc() - time_);
    ThreadLog::prefetch_behind(slot_ + trace::unpack(head_).slots);
    ThreadLog::commit(slot_, trace::with_result(head_, result));
    if (!launch && has_facts<Known>(result)) [[unlikely]]
      note_facts(result);
  }
  if (is_kind<Known>(record, trace::Kind::kAlloc) && result == 0 &&
      (slot_ == nullptr || any_unrecorded_blocks.load(std::memory_order_relaxed))) [[unlikely]]
    follow_unrecorded_blocks(record, slot_ != nullptr);
  if (!is_kind<Known>(record, trace::Kind::kLaunch) && result == 0 &&
      watches_host.load(std::memory_order_relaxed)) [[unlikely]]
    follow_host_watches(record, order());
  if (notified_ != 0) [[unlikely]]
    notify_after(record, row_, notified_, result == 0);
}

// Whether the trace should know something beside the call itself.
template <trace::Kind Known> inline bool Call::has_facts(std::uint16_t result) const noexcept {
  if (result != 0) return is_kind<Known>(record, trace::Kind::kAlloc);
  // Of pools, launches and copies nothing is followed.
  if (Known != trace::Kind::kNone) return false;
  return concerns_host_memory(record) || concerns_retired_memory(record) ||
         is_kind<Known>(record, trace::Kind::kLife);
}

} // namespace gmt::interposer
