// SPDX-License-Identifier: Apache-2.0
#include "interposer/execution/records.h"

#include <cstdio>
#include <cstring>

#include "interposer/log/interned_text.h"
#include "interposer/log/process.h"
#include "interposer/log/thread_log.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kMostLines = 64;
constexpr std::size_t kMostTextBytes = 1700; // what a kText holds, and a little less

// Appends one line; false, and nothing is appended, where it does not fit.
bool add_line(char* buffer, std::size_t& used, const trace::ExecutionLine& line) noexcept {
  const std::string_view function = as_text(line.function), file = as_text(line.file);
  char number[16];
  const int digits = std::snprintf(number, sizeof number, "%u", line.line);
  const std::size_t digit_count = digits > 0 ? static_cast<std::size_t>(digits) : 0;
  const std::size_t bytes = digit_count + function.size() + file.size() + 3;
  if (bytes > kMostTextBytes - used) return false;
  const auto add = [&](std::string_view text, char end) noexcept {
    for (const char c : text) { // what separates fields stands in no field
      const bool separates = c == '\t' || c == '\n';
      buffer[used++] = separates ? ' ' : c;
    }
    buffer[used++] = end;
  };
  add({number, digit_count}, '\t');
  add(function, '\t');
  add(file, '\n');
  return true;
}

} // namespace

std::string_view as_text(const char* text) noexcept {
  return text != nullptr ? std::string_view(text, std::strlen(text)) : std::string_view();
}

std::uint64_t text_of(ThreadLog& log, const char* text) noexcept {
  return text != nullptr && *text != '\0' ? append_text(log, as_text(text)) : 0;
}

std::uint64_t lines_of(ThreadLog& log, const trace::ExecutionLocation& location) noexcept {
  char buffer[kMostTextBytes];
  std::size_t used = 0;
  const unsigned count = location.line_count < kMostLines ? location.line_count : kMostLines;
  for (unsigned i = 0; i < count && location.lines != nullptr; ++i) {
    if (!add_line(buffer, used, location.lines[i])) break;
  }
  return used != 0 ? append_text(log, {buffer, used - 1}) : 0;
}

trace::Slot* append_ordered(ThreadLog& log, const Record& record, std::uint16_t context) noexcept {
  const unsigned slots = trace::slots_for(record.words);
  trace::Slot* slot = log.reserve(slots, ThreadLog::worth_of(record));
  if (slot == nullptr) return nullptr;
  slot->order = Process::next_order();
  slot->time = read_tsc();
  slot->stack = 0;
  slot->context = context;
  slot->via = trace::kNoApi;
  ThreadLog::fill(slot, record);
  ThreadLog::commit(slot, trace::pack({record.kind, static_cast<std::uint8_t>(slots), trace::kNoApi,
                                       record.flags, 0}));
  return slot;
}

void raise_words(trace::Slot* slot, const Record& record) noexcept {
  auto* more = reinterpret_cast<trace::MoreSlot*>(slot + 1);
  for (unsigned i = record.words; i-- != 0;) {
    const unsigned behind = i - trace::kFirstPayloadWords; // of the first slot's
    std::uint64_t* word =
      i < trace::kFirstPayloadWords
        ? &slot->a[i]
        : &more[behind / trace::kMorePayloadWords].payload[behind % trace::kMorePayloadWords];
    if (__atomic_load_n(word, __ATOMIC_RELAXED) != record.w[i])
      __atomic_store_n(word, record.w[i], __ATOMIC_RELEASE);
  }
}

} // namespace gmt::interposer
