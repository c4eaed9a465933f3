// SPDX-License-Identifier: Apache-2.0
// A code object: its identity, its names, and the line of one of its instructions. A frame that
// runs holds it, so it lives as long as it is looked at here.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "interposer/python/interpreter.h"

namespace gmt::interposer::python {

// Address, length and the first 16 bytes of a string.
inline std::uint64_t text_key(const Layout& l, const char* text) noexcept {
  const auto length = load<std::uint64_t>(text, kTextLength);
  const auto state = load<std::uint32_t>(text, kTextState);
  const bool is_ascii = (state & 1 << 6) != 0;
  const char* data = text + (is_ascii ? l.ascii_data : l.compact_data);
  const std::uint64_t bytes = length * (state >> 2 & 7);
  std::uint64_t first = 0, second = 0;
  if (bytes >= 16) {
    first = load<std::uint64_t>(data, 0);
    second = load<std::uint64_t>(data, 8);
  } else if (bytes >= 8) {
    first = load<std::uint64_t>(data, 0);
    second = load<std::uint64_t>(data + bytes - 8, 0);
  } else if (bytes != 0) { // what lies before the characters is the string's, too
    first = load<std::uint64_t>(data + bytes - 8, 0) >> (64 - 8 * bytes);
  }
  const std::uint64_t mixed = reinterpret_cast<std::uint64_t>(text) ^ std::rotl(length, 48);
  return mixed + std::rotl(first, 17) + std::rotl(second, 41);
}

// Distinguishes a code object from another one that takes its address later. Each new object gets
// the next version, until these are used up and all have 0. So its names are read only without a
// version: this runs for each frame at each call. The caller mixes the bits.
inline std::uint64_t code_key(const Interpreter& python, const char* code) noexcept {
  const Layout& l = python.layout;
  if (l.version != kAbsent) {
    const std::uint64_t version = load<std::uint32_t>(code, l.version);
    if (version != 0) return std::rotl(reinterpret_cast<std::uint64_t>(code), 11) + (version << 32);
  }
  const std::uint64_t names =
    text_key(l, load(code, l.filename)) ^ std::rotl(text_key(l, load(code, l.qualname)), 29);
  const std::uint64_t line = load<std::uint32_t>(code, l.first_line);
  return names + std::rotl(reinterpret_cast<std::uint64_t>(code), 11) + (line << 40);
}

// Line of the source in which an instruction stands, 0 if it has none.
std::uint32_t line_of(const Interpreter& python, const char* code,
                      const char* instruction) noexcept;

std::uint32_t first_line_of(const Interpreter& python, const char* code) noexcept;

// Qualified name and file, as UTF-8; what does not fit is cut off, of a file's name its beginning.
std::size_t name_of(const Interpreter& python, const char* code, char* buffer,
                    std::size_t size) noexcept;
std::size_t file_of(const Interpreter& python, const char* code, char* buffer,
                    std::size_t size) noexcept;

} // namespace gmt::interposer::python
