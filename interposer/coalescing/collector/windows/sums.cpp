// SPDX-License-Identifier: Apache-2.0
// See sums.h.
#include "interposer/coalescing/collector/windows/sums.h"

#include <cstring>

#include "interposer/coalescing/collector/core.h"
#include "interposer/base/bounded_lock.h"

namespace gmt::interposer::collector {

namespace {

constexpr unsigned kWindowsWords = 19, kFunctionWords = 10, kInstructionWords = 1 + kMetrics, kCountersWords = 16;

std::uint64_t* place_of(trace::Slot* record, unsigned word) noexcept {
  if (word < trace::kFirstPayloadWords) return record->a + word;
  const unsigned beyond = word - trace::kFirstPayloadWords;
  auto* more = reinterpret_cast<trace::MoreSlot*>(record + 1 + beyond / trace::kMorePayloadWords);
  return more->payload + beyond % trace::kMorePayloadWords;
}

} // namespace

void add_to_word(trace::Slot* record, unsigned word, std::uint64_t by) noexcept {
  if (record != nullptr) __atomic_fetch_add(place_of(record, word), by, __ATOMIC_RELAXED);
}

std::uint64_t word_of(const trace::Slot* record, unsigned word) noexcept {
  return __atomic_load_n(place_of(const_cast<trace::Slot*>(record), word), __ATOMIC_RELAXED);
}

void set_word(trace::Slot* record, unsigned word, std::uint64_t value) noexcept {
  if (record != nullptr) __atomic_store_n(place_of(record, word), value, __ATOMIC_RELAXED);
}

bool Sums::begin(std::uint32_t file_number, std::uint16_t context) noexcept {
  log_ = core->make_log(file_number);
  if (log_ == nullptr) return false;
  context_ = context;
  const std::uint64_t nothing[kWindowsWords] = {};
  windows_ = core->append(log_, trace::Kind::kAccessWindows, nothing, kWindowsWords, context);
  return windows_ != nullptr;
}

FunctionRow Sums::add_function(const char* name, std::uint64_t code) noexcept {
  const BoundedLock lock(appending_, kLockMilliseconds);
  if (!lock.held()) return {};
  const std::uint64_t text = core->append_text(log_, name, std::strlen(name));
  const std::uint64_t words[kFunctionWords] = {functions_ + 1, text, code};
  trace::Slot* slot = core->append(log_, trace::Kind::kAccessFunction, words, kFunctionWords, context_);
  if (slot == nullptr) return {};
  return {slot, ++functions_};
}

trace::Slot* Sums::instruction(std::uint32_t function, std::uint32_t offset, bool make, const Cupti& cupti,
                               int device) noexcept {
  const std::uint64_t key = function | std::uint64_t{offset} << 32;
  Place* place = instructions_.find(key);
  if (place == nullptr) return nullptr;
  if (place->used && (place->slot != nullptr || !make)) return place->slot;
  place->used = true;
  if (!make) return nullptr;
  const BoundedLock lock(appending_, kLockMilliseconds);
  if (!lock.held()) return nullptr;
  std::uint64_t words[kInstructionWords] = {key};
  for (unsigned i = 0; i < kMetrics; ++i) words[1 + i] = cupti.knows_metric(device, i) ? 0 : trace::kUnknownCount;
  place->slot = core->append(log_, trace::Kind::kAccessInstruction, words, kInstructionWords, context_);
  return place->slot;
}

trace::Slot* Sums::counters(std::uint32_t function) noexcept {
  const BoundedLock lock(appending_, kLockMilliseconds);
  if (!lock.held()) return nullptr;
  const std::uint64_t words[kCountersWords] = {function};
  return core->append(log_, trace::Kind::kAccessCounters, words, kCountersWords, context_);
}

Place* Sums::measured_function(std::uint64_t code) noexcept { return measured_.find(code); }

} // namespace gmt::interposer::collector
