// SPDX-License-Identifier: Apache-2.0
// The program's NVTX ranges, marks and names, on their way into the trace. nvtx.cpp calls the
// functions that note what the program said; call.cpp calls write_ranges() before it records a
// call.
//
// A thread's open ranges are a stack of its own that costs no record: what has changed of it since
// the thread's last recorded call is written before the next one. So a push and a pop without a
// CUDA call between them leave no trace, a range that was open before the first CUDA call is not
// lost, and a forked child begins its trace with what is open.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "interposer/log/nvtx_names.h"
#include "trace/format.h"

namespace gmt::interposer {

class ThreadLog;

extern std::atomic<bool> nvtx_in_use; // an NVTX of this process has taken our handlers
void begin_ranges() noexcept;         // it has

// Levels as NVTX counts them, per domain from 0; below 0 if nothing is open.
int push_range(std::uint64_t domain, const Name* name) noexcept;
int pop_range(std::uint64_t domain) noexcept;

// Ranges of the process: any thread may end what another has begun.
std::uint64_t new_range_id() noexcept;
void start_range(std::uint64_t domain, const Name* name, std::uint64_t id) noexcept;
void end_range(std::uint64_t domain, std::uint64_t id) noexcept;

void mark(std::uint64_t domain, const Name* name) noexcept;
// `what` as RangeOp says: kNameDomain none, kNameThread a thread id, kNameResource a handle.
void note_name(trace::RangeOp op, std::uint64_t domain, const Name* name,
               std::uint64_t what) noexcept;

// Whether a range of this name is open, of this thread's or of the process.
bool thread_is_in_range(std::string_view name) noexcept;

// Brings the log up to what is open on this thread.
void write_changed_ranges(ThreadLog& log) noexcept;
inline void write_ranges(ThreadLog& log) noexcept {
  if (nvtx_in_use.load(std::memory_order_relaxed)) [[unlikely]]
    write_changed_ranges(log);
}
// The thread's log may serve another thread from now on.
void forget_ranges_log() noexcept;

} // namespace gmt::interposer
