// SPDX-License-Identifier: Apache-2.0
// access-<n>.log of one context (trace/FORMAT.md, "Instructions and memory"): its records, raised in place. Used by
// windows.cpp.
//
// Invariants: one thread at a time asks for instructions and measured functions (the gate of window_context.h), any may add a
// kernel's record, and words may be raised by any. Each kernel has its kAccessFunction from its first launch on, with
// P2 0 until it has been measured. What finds no room is left out and counted by the log.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/coalescing/collector/cupti.h"
#include "interposer/coalescing/collector/table.h"
#include "trace/format.h"

namespace gmt::interposer {
class ThreadLog;
}

namespace gmt::interposer::collector {

// Words of kAccessWindows and of kAccessFunction that are raised.
enum WindowsWord : unsigned {
  kTrouble = 0, kTroubleResult = 1, kOpened = 2, kRead = 3, kGivenUp = 4, kLaunches = 5, kLaunchesRead = 6,
  kLaunchesGivenUp = 7, kOpenTime = 8, kGraphLaunches = 9, kPutOff = 10, kCountersTrouble = 11, kCountersResult = 12,
  kCountings = 13, kCountingsLost = 14, kUnknownGraphs = 15,
  kGraphsInWindows = 16, kMeasuringTime = 17, kElapsedTime = 18,
};
// Words of kAccessCounters; its figures begin at kFirstFigure.
enum CountersWord : unsigned { kCounted = 1, kFirstFigure = 2, kCountedSecond = 14, kOfPasses = 15 };
enum FunctionWord : unsigned {
  kCode = 2, kMeasured = 3, kLost = 4, kSeen = 5, kPlainTime = 6, kTooCostly = 7, kLongestTime = 8,
  kMoreShared = 9,
};

// Raises a payload word of a record; `by` may be negative.
void add_to_word(trace::Slot* record, unsigned word, std::uint64_t by) noexcept;
std::uint64_t word_of(const trace::Slot* record, unsigned word) noexcept;
void set_word(trace::Slot* record, unsigned word, std::uint64_t value) noexcept;

struct FunctionRow {
  trace::Slot* slot = nullptr;
  std::uint32_t number = 0;
};

class Sums {
public:
  bool begin(std::uint32_t file_number, std::uint16_t context) noexcept; // false: nothing can be written
  trace::Slot* windows() const noexcept { return windows_; }

  FunctionRow add_function(const char* name, std::uint64_t code) noexcept;
  // The record of an instruction of the function; made if `make`, else null if there is none.
  trace::Slot* instruction(std::uint32_t function, std::uint32_t offset, bool make, const Cupti& cupti,
                           int device) noexcept;
  trace::Slot* counters(std::uint32_t function) noexcept; // a new record; null if it was lost
  // Where a measured function's record stands, by P2 of it; see table.h.
  Place* measured_function(std::uint64_t code) noexcept;

private:
  std::atomic<bool> appending_{false};
  ThreadLog* log_ = nullptr;
  trace::Slot* windows_ = nullptr;
  std::uint16_t context_ = 0;
  std::uint32_t functions_ = 0;
  PlaceTable measured_, instructions_;
};

} // namespace gmt::interposer::collector
