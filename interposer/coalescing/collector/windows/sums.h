// SPDX-License-Identifier: Apache-2.0
// access-<n>.log of one context (trace/FORMAT.md, "Instructions and memory"): its records, raised
// in place.
//
// Invariants: one thread at a time asks for instructions and measured functions (the gate of
// window_context.h), any may add a kernel's record, and words may be raised by any. Each kernel has
// its kAccessFunction from its first launch on, with identity 0 until it has been measured. What
// finds no room is left out and counted by the log.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/coalescing/collector/profiler.h"
#include "interposer/coalescing/collector/table.h"
#include "trace/format.h"
#include "trace/records.h"

namespace gmt::interposer {
class ThreadLog;
}

namespace gmt::interposer::collector {

// The words that are raised. Metrics stand from InstructionWord::executions on in the order of
// Figures, figures of the counters from CountersWord::read_bytes on.
using WindowsWord = trace::AccessWindowsWord;
using FunctionWord = trace::AccessFunctionWord;
using InstructionWord = trace::AccessInstructionWord;
using CountersWord = trace::AccessCountersWord;
static_assert(InstructionWord::executions + kMetrics == InstructionWord::kCount);

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
  // False: nothing can be written
  bool begin(std::uint32_t file_number, std::uint16_t context) noexcept;
  trace::Slot* windows() const noexcept { return windows_; }

  FunctionRow add_function(const char* name, std::uint64_t identity) noexcept;
  // The record of an instruction of the function; made if `make`, else null if there is none.
  trace::Slot* instruction(std::uint32_t function, std::uint32_t offset, bool make,
                           const InstructionMetrics& metrics, int device) noexcept;
  trace::Slot* counters(std::uint32_t function) noexcept; // a new record; null if it was lost
  // Where a measured function's record stands, by its identity; see table.h.
  SlotEntry* measured_function(std::uint64_t identity) noexcept;

private:
  std::atomic<bool> appending_{false};
  ThreadLog* log_ = nullptr;
  trace::Slot* windows_ = nullptr;
  std::uint16_t context_ = 0;
  std::uint32_t functions_ = 0;
  SlotTable measured_, instructions_;
};

} // namespace gmt::interposer::collector
