// SPDX-License-Identifier: Apache-2.0
// Strings in the trace: a device's name, a range's message. Each is written once per process as a
// kText record and named by its hash from then on. Allocates nothing and takes no lock: a string
// that two threads meet at once may be written twice, which says the same.
#pragma once

#include <cstdint>
#include <string_view>

namespace gmt::interposer {

class ThreadLog;

// FNV-1a over the bytes: equal in every log of every process.
constexpr std::uint64_t text_id(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// Writes the string unless the trace has it already; its id. What does not fit a record (1,752
// bytes) is cut off.
std::uint64_t append_text(ThreadLog& log, std::string_view text) noexcept;

// The same in any case, for a log that is read by itself.
std::uint64_t write_text(ThreadLog& log, std::string_view text) noexcept;

void forget_texts() noexcept; // a forked child's trace has none yet

} // namespace gmt::interposer
