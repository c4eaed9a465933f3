// SPDX-License-Identifier: Apache-2.0
#include "interposer/log/record_range.h"

#include <string_view>

#include "interposer/log/nvtx_ranges.h"
#include "interposer/log/process.h"
#include "interposer/log/thread_log.h"
#include "trace/api_id.h"

namespace gmt::interposer {

constinit std::atomic<bool> is_outside_range{false};
constinit std::atomic<std::uint64_t> unrecorded_calls{0};

namespace {

constexpr std::string_view kProfiler = "profiler";

constinit std::atomic<bool> profiler_is_on{false}; // also before a session begins
constinit std::atomic<bool> is_asked_for{false};
constinit std::atomic<int> open_ranges{0}; // of the name

std::string_view wanted() noexcept { return Process::options().record_range; }

void settle() noexcept {
  const bool is_inside = wanted() == kProfiler ? profiler_is_on.load() : open_ranges.load() > 0;
  is_outside_range.store(is_asked_for.load() && !is_inside);
}

bool is_wanted(const Name* name) noexcept {
  return is_asked_for.load(std::memory_order_relaxed) && name != nullptr &&
         name->text() == wanted() && wanted() != kProfiler;
}

// Captures say what a graph has in it, and a graph's launch may allocate memory.
bool is_part_of_graphs(const Record& sync) noexcept {
  switch (trace::SyncView(sync).op()) {
  case trace::SyncOp::kGraphLaunch:
  case trace::SyncOp::kBeginCapture:
  case trace::SyncOp::kEndCapture: return true;
  default: return false;
  }
}

} // namespace

// A range of another thread that was open before is not known.
void begin_record_range() noexcept {
  unrecorded_calls.store(0);
  is_asked_for.store(!wanted().empty());
  open_ranges.store(is_asked_for.load() && thread_is_in_range(wanted()) ? 1 : 0);
  settle();
}

void profiler_was_switched(bool on) noexcept {
  profiler_is_on.store(on);
  if (Process::is_on()) settle();
}

bool is_profiler_on() noexcept { return profiler_is_on.load(std::memory_order_relaxed); }

void nvtx_range_was_opened(const Name* name) noexcept {
  if (!is_wanted(name)) return;
  open_ranges.fetch_add(1);
  settle();
}

void nvtx_range_was_closed(const Name* name) noexcept {
  if (!is_wanted(name)) return;
  int open = open_ranges.load();
  while (open > 0 && !open_ranges.compare_exchange_weak(open, open - 1)) {
  } // one that was not known was not counted
  settle();
}

bool is_left_out(const Record& record, unsigned records) noexcept {
  switch (record.kind) {
  case trace::Kind::kLaunch:
  case trace::Kind::kCopy:
  case trace::Kind::kSet: break;
  case trace::Kind::kSync:
    if (is_part_of_graphs(record)) return false;
    break;
  default: return false;
  }
  unrecorded_calls.fetch_add(records, std::memory_order_relaxed);
  return true;
}

[[gnu::cold]] void note_unrecorded_calls(ThreadLog& log) noexcept {
  std::uint64_t state = unrecorded_calls.load(), calls = 0;
  do {
    if (state == 0) return;
    calls = state % kNoteOnItsWay;
  } while (!unrecorded_calls.compare_exchange_weak(state, state - calls + kNoteOnItsWay));
  Record note;
  note.kind = trace::Kind::kNote;
  note.use(trace::kFirstPayloadWords);
  trace::NoteFields(note).first(calls);
  log.append(note, trace::kOther_unrecordedCalls);
  unrecorded_calls.fetch_sub(kNoteOnItsWay);
}

} // namespace gmt::interposer
