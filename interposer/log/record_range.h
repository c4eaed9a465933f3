// SPDX-License-Identifier: Apache-2.0
// `--record-range`: launches, copies and orders of streams are recorded only between
// cuProfilerStart and cuProfilerStop, or while an NVTX range of a name is open, in whichever
// thread. What gives, takes and names memory and objects is recorded all the time: leaks and frees
// are known as ever. Where calls were left out, a note says how many before the next record: a
// reader takes it for a call that may have used any memory and ordered any streams.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/log/nvtx_names.h"
#include "interposer/log/record.h"

namespace gmt::interposer {

class ThreadLog;

extern std::atomic<bool> is_outside_range; // of one that was asked for
// Since the last note of them, and in the upper bits how many notes are on their way into logs:
// until then records of other threads need one of their own in front, if only of no calls.
extern std::atomic<std::uint64_t> unrecorded_calls;
inline constexpr std::uint64_t kNoteOnItsWay = std::uint64_t{1} << 48;

void begin_record_range() noexcept; // when a session begins
void profiler_was_switched(bool on) noexcept;
bool is_profiler_on() noexcept; // by the program's calls
void nvtx_range_was_opened(const Name* name) noexcept;
void nvtx_range_was_closed(const Name* name) noexcept;

// Whether the call is left out; then it is counted.
bool is_left_out(const Record& record, unsigned records) noexcept;
inline bool leaves_out(const Record& record, unsigned records = 1) noexcept {
  return is_outside_range.load(std::memory_order_relaxed) && is_left_out(record, records);
}

void note_unrecorded_calls(ThreadLog& log) noexcept;
inline void write_unrecorded_calls(ThreadLog& log) noexcept {
  if (unrecorded_calls.load(std::memory_order_relaxed) != 0) [[unlikely]]
    note_unrecorded_calls(log);
}

} // namespace gmt::interposer
