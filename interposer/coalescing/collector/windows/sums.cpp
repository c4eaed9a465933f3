// SPDX-License-Identifier: Apache-2.0
#include "interposer/coalescing/collector/windows/sums.h"

#include <cstring>

#include "interposer/base/bounded_lock.h"
#include "interposer/coalescing/collector/core.h"
#include "interposer/log/slot_words.h"

namespace gmt::interposer::collector {

void add_to_word(trace::Slot* record, unsigned word, std::uint64_t by) noexcept {
  if (record != nullptr) __atomic_fetch_add(word_at(record, word), by, __ATOMIC_RELAXED);
}

std::uint64_t word_of(const trace::Slot* record, unsigned word) noexcept {
  return __atomic_load_n(word_at(const_cast<trace::Slot*>(record), word), __ATOMIC_RELAXED);
}

void set_word(trace::Slot* record, unsigned word, std::uint64_t value) noexcept {
  if (record != nullptr) __atomic_store_n(word_at(record, word), value, __ATOMIC_RELAXED);
}

bool Sums::begin(std::uint32_t file_number, std::uint16_t context) noexcept {
  log_ = core->make_log(file_number);
  if (log_ == nullptr) return false;
  context_ = context;
  const trace::Words<WindowsWord> nothing;
  windows_ = core->append(log_, trace::Kind::kAccessWindows, nothing.w, nothing.kCount, context);
  return windows_ != nullptr;
}

FunctionRow Sums::add_function(const char* name, std::uint64_t identity) noexcept {
  const BoundedLock lock(appending_, kLockMilliseconds);
  if (!lock.held()) return {};
  const std::uint64_t text = core->append_text(log_, name, std::strlen(name));
  trace::Words<FunctionWord> words;
  trace::AccessFunctionFields(words)
    .number(functions_ + 1)
    .name(text)
    .identity(trace::halves_of(identity));
  trace::Slot* slot =
    core->append(log_, trace::Kind::kAccessFunction, words.w, words.kCount, context_);
  if (slot == nullptr) return {};
  return {slot, ++functions_};
}

trace::Slot* Sums::instruction(std::uint32_t function, std::uint32_t offset, bool make,
                               const InstructionMetrics& metrics, int device) noexcept {
  const trace::Halves where{function, offset};
  const std::uint64_t key = trace::pack_halves(where);
  SlotEntry* entry = instructions_.find(key);
  if (entry == nullptr) return nullptr;
  if (entry->used && (entry->slot != nullptr || !make)) return entry->slot;
  entry->used = true;
  if (!make) return nullptr;
  const BoundedLock lock(appending_, kLockMilliseconds);
  if (!lock.held()) return nullptr;
  trace::Words<InstructionWord> words;
  trace::AccessInstructionFields(words).location(where);
  for (unsigned i = 0; i < kMetrics; ++i) {
    if (!metrics.knows_metric(device, i))
      words.set(InstructionWord::executions + i, trace::kUnknownCount);
  }
  entry->slot =
    core->append(log_, trace::Kind::kAccessInstruction, words.w, words.kCount, context_);
  return entry->slot;
}

trace::Slot* Sums::counters(std::uint32_t function) noexcept {
  const BoundedLock lock(appending_, kLockMilliseconds);
  if (!lock.held()) return nullptr;
  trace::Words<CountersWord> words;
  trace::AccessCountersFields(words).function(function);
  return core->append(log_, trace::Kind::kAccessCounters, words.w, words.kCount, context_);
}

SlotEntry* Sums::measured_function(std::uint64_t identity) noexcept {
  return measured_.find(identity);
}

} // namespace gmt::interposer::collector
