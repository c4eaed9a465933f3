// SPDX-License-Identifier: Apache-2.0
// What all records about kernels share: names and lines as texts of the trace, and a position in
// the process-wide order. For calls that come from the simulated device: no CUDA call, no lock.
#pragma once

#include <cstdint>
#include <string_view>

#include "interposer/log/record.h"
#include "trace/execution_observer.h"

namespace gmt::interposer {

class ThreadLog;

// A field behind what the other side has is not there.
template <class Structure, class Field>
bool has_field(const Structure& s, Field Structure::* field) noexcept {
  const auto begin = reinterpret_cast<const char*>(&s);
  const auto end = reinterpret_cast<const char*>(&(s.*field)) + sizeof(Field);
  return static_cast<std::size_t>(end - begin) <= s.size;
}

std::string_view as_text(const char* text) noexcept; // of null an empty one
// Its kText id; 0 for an empty text.
std::uint64_t text_of(ThreadLog& log, const char* text) noexcept;
// The same of the source lines of an instruction, as trace/FORMAT.md has them.
std::uint64_t lines_of(ThreadLog& log, const trace::ExecutionLocation& location) noexcept;

// A record that is no call, with an order of its own.
// Null if it was lost.
trace::Slot* append_ordered(ThreadLog& log, const Record& record, std::uint16_t context) noexcept;
// Writes the record's words into its slot: whatever moment the process dies at, each word is an old
// or a new one. Later words come first.
void raise_words(trace::Slot* slot, const Record& record) noexcept;

} // namespace gmt::interposer
