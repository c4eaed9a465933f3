// SPDX-License-Identifier: Apache-2.0
#include "interposer/execution/records.h"

#include <cstdio>
#include <cstring>
#include <string_view>

#include "interposer/log/interned_text.h"
#include "interposer/log/process.h"
#include "interposer/log/thread_log.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kMostLines = 64;
constexpr std::size_t kMostTextBytes = 1700; // what a kText holds, and a little less

// A line as the text has it: its number, the function and the file.
struct LineParts {
  char number[16];
  std::string_view digits, function, file;

  std::size_t bytes() const noexcept { return digits.size() + function.size() + file.size() + 3; }
};

void read_line(const trace::ExecutionLine& from, LineParts& line) noexcept {
  const int digits = std::snprintf(line.number, sizeof line.number, "%u", from.line);
  line.digits = {line.number, digits > 0 ? static_cast<std::size_t>(digits) : 0};
  line.function = as_text(from.function);
  line.file = as_text(from.file);
}

void add_line(char* buffer, std::size_t& used, const trace::ExecutionLine& from) noexcept {
  LineParts line;
  read_line(from, line);
  const auto add = [&](std::string_view text, char end) noexcept {
    for (const char c : text) { // what separates fields stands in no field
      const bool separates = c == '\t' || c == '\n';
      buffer[used++] = separates ? ' ' : c;
    }
    buffer[used++] = end;
  };
  add(line.digits, '\t');
  add(line.function, '\t');
  add(line.file, '\n');
}

} // namespace

std::string_view as_text(const char* text) noexcept {
  return text != nullptr ? std::string_view(text, std::strlen(text)) : std::string_view();
}

std::uint64_t text_of(ThreadLog& log, const char* text) noexcept {
  return text != nullptr && *text != '\0' ? append_text(log, as_text(text)) : 0;
}

// Where not all lines fit, those between the first and the last ones are left out: the first is
// where the thread is, and the last are in the program's own functions, not in a library's.
std::uint64_t lines_of(ThreadLog& log, const trace::ExecutionLocation& location) noexcept {
  if (location.lines == nullptr || location.line_count == 0) return 0;
  std::size_t left = kMostTextBytes;
  const auto fits = [&](unsigned i) noexcept {
    LineParts line;
    read_line(location.lines[i], line);
    if (line.bytes() > left) return false;
    left -= line.bytes();
    return true;
  };
  const unsigned first = fits(0) ? 1 : 0;
  unsigned last = location.line_count; // the first of the last ones
  while (last > first && location.line_count - last < kMostLines && fits(last - 1)) --last;
  char buffer[kMostTextBytes];
  std::size_t used = 0;
  if (first != 0) add_line(buffer, used, location.lines[0]);
  for (unsigned i = last; i < location.line_count; ++i) add_line(buffer, used, location.lines[i]);
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
