// SPDX-License-Identifier: Apache-2.0
#include "interposer/coalescing/collector/windows/figures.h"

#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/windows/counting.h"
#include "interposer/log/interned_text.h"

namespace gmt::interposer::collector {

namespace {

bool accesses_memory(const Figures& figures) noexcept {
  for (unsigned i = kFirstMemoryMetric; i < kMetrics; ++i) {
    if (figures.values[i] != 0) return true;
  }
  return false;
}

// CUPTI numbers the functions of some modules all alike (H100, driver 580), so the name takes part.
std::uint64_t code_of(const Figures& figures) noexcept {
  const auto name = static_cast<std::uint32_t>(text_id(figures.name));
  return trace::pack_halves({figures.cubin, figures.function ^ name});
}

// The function's record: its kernel's own if that was never measured before, else one more. Null if
// there is no room.
SlotEntry* function_of(Reading& reading, const Figures& figures) noexcept {
  if (reading.function != nullptr && reading.function->used) return reading.function;
  Sums& sums = reading.context.sums;
  SlotEntry* entry = reading.function = sums.measured_function(reading.code);
  if (entry == nullptr || entry->used) return entry;
  entry->used = true;
  if (reading.kernel != nullptr && !reading.kernel->wanted) return entry; // without a record
  FunctionRow row;
  if (reading.kernel != nullptr && reading.kernel->row.slot != nullptr &&
      word_of(reading.kernel->row.slot, FunctionWord::identity) == 0) {
    row = reading.kernel->row;
    set_word(row.slot, FunctionWord::identity, reading.code);
  } else {
    row = sums.add_function(figures.name, reading.code);
  }
  entry->slot = row.slot;
  entry->number = row.number;
  return entry;
}

} // namespace

void add_figures(void* data, const Figures& figures, bool again) noexcept {
  Reading& reading = *static_cast<Reading*>(data);
  const std::uint64_t code = code_of(figures);
  if (!reading.begun || reading.code != code) {
    reading.begun = true;
    reading.code = code;
    reading.kernel = reading.context.kernels.named(figures.name);
    reading.function = nullptr;
    if (reading.kernel != nullptr) reading.kernel->has_figures = true;
  }
  if (!again && !accesses_memory(figures)) return;
  const SlotEntry* function = function_of(reading, figures);
  if (function == nullptr || function->slot == nullptr) return;
  Context& context = reading.context;
  trace::Slot* slot = context.sums.instruction(function->number, figures.offset, !again,
                                               *profilers.metrics, context.device.load());
  const unsigned first = again ? 0 : kFirstMemoryMetric,
                 last = again ? kFirstMemoryMetric : kMetrics;
  for (unsigned i = first; i < last; ++i) {
    // Never of a metric that the chip lacks.
    if (figures.values[i] != 0)
      add_to_word(slot, InstructionWord::executions + i, figures.values[i]);
  }
}

} // namespace gmt::interposer::collector
