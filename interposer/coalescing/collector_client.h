// SPDX-License-Identifier: Apache-2.0
// The core's end of --coalescing: opens the collector (collector/interface.h) when a session with
// that option starts, and notifies it of launches, of other work and of waits. Without the option
// nothing is opened and each call costs one test of a flag.
//
// Invariant: of what the collector and CUPTI themselves call, nothing is recorded, and the
// collector is notified of nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/log/record.h"

namespace gmt::interposer {

// kStopped: the collector is notified no more, but CUPTI may be there.
enum class Coalescing : std::uint8_t { kOff, kOn, kStopped };
extern std::atomic<Coalescing> coalescing;
inline bool is_coalescing() noexcept {
  return coalescing.load(std::memory_order_relaxed) == Coalescing::kOn;
}

// The option is given, and the device counts without CUPTI: the simulated one does, unless the user
// names a CUPTI.
bool device_counts_traffic() noexcept;

void open_collector() noexcept;   // a session has started
void forget_collector() noexcept; // a forked child has no windows; before its session starts

// Before the real call, and after it with what the first answered (0: it was not notified).
std::uint64_t notify_before(const Record& record, std::uint16_t row) noexcept;
void notify_after(const Record& record, std::uint16_t row, std::uint64_t token,
                  bool succeeded) noexcept;
void notify_of_code(const void* image, std::size_t bytes) noexcept;

// The call comes from CUPTI, or is made on its behalf inside the collector.
bool comes_from_profiler(const void* caller) noexcept;
inline bool is_profilers_call(const void* caller) noexcept {
  return coalescing.load(std::memory_order_relaxed) != Coalescing::kOff &&
         comes_from_profiler(caller);
}

} // namespace gmt::interposer
