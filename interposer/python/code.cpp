// SPDX-License-Identifier: Apache-2.0
// The table of lines is CPython's location table, as it is since 3.11: entries of some bytes each,
// of which only the first has its highest bit set.
#include "interposer/python/code.h"

namespace gmt::interposer::python {
namespace {

std::size_t utf8_length(std::uint32_t c) noexcept {
  if (c < 0x80) return 1;
  if (c < 0x800) return 2;
  return c < 0x10000 ? 3 : 4;
}

// Writes a character as UTF-8; how many bytes, 0 if they do not fit. Half a pair is no character:
// Python keeps bytes of a file's name that way.
std::size_t put_utf8(std::uint32_t c, char* buffer, std::size_t size) noexcept {
  if (c >= 0xd800 && c < 0xe000) c = '?';
  const std::size_t length = utf8_length(c);
  if (length > size) return 0;
  if (length == 1) {
    buffer[0] = static_cast<char>(c);
    return 1;
  }
  for (std::size_t i = length - 1; i != 0; --i, c >>= 6)
    buffer[i] = static_cast<char>(0x80 | (c & 0x3f));
  buffer[0] = static_cast<char>((0xf00 >> length & 0xff) | c);
  return length;
}

struct Characters {
  const char* data;
  std::uint64_t count;
  unsigned width; // 1, 2 or 4
  std::uint32_t operator[](std::uint64_t i) const noexcept {
    if (width == 1) return static_cast<unsigned char>(data[i]);
    return width == 2 ? load<std::uint16_t>(data + 2 * i, 0) : load<std::uint32_t>(data + 4 * i, 0);
  }
};

Characters characters_of(const Interpreter& python, const char* text) noexcept {
  const auto state = load<std::uint32_t>(text, kTextState);
  const bool is_compact = (state & 1 << 5) != 0, is_ascii = (state & 1 << 6) != 0;
  const unsigned width = state >> 2 & 7;
  if (load(text, kObjectType) != python.text_type || !is_compact ||
      (width != 1 && width != 2 && width != 4))
    return {nullptr, 0, 1};
  return {text + (is_ascii ? python.layout.ascii_data : python.layout.compact_data),
          load<std::uint64_t>(text, kTextLength), width};
}

std::size_t copy(const Characters& from, std::uint64_t first, char* buffer,
                 std::size_t size) noexcept {
  std::size_t length = 0;
  for (std::uint64_t i = first; i < from.count; ++i) {
    const std::size_t added = put_utf8(from[i], buffer + length, size - length);
    if (added == 0) break;
    length += added;
  }
  return length;
}

// Reads the numbers of an entry: six bits a byte, the lowest first.
std::int64_t signed_number(const unsigned char*& at, const unsigned char* end) noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at < end && shift < 60; shift += 6) {
    const unsigned char byte = *at++;
    value |= std::uint64_t{byte & 0x3fu} << shift;
    if ((byte & 0x40) == 0) break;
  }
  const auto magnitude = static_cast<std::int64_t>(value >> 1);
  return (value & 1) != 0 ? -magnitude : magnitude;
}

// By how many lines an entry goes on. The first byte has been read.
std::int64_t line_step(unsigned form, const unsigned char*& at, const unsigned char* end) noexcept {
  constexpr unsigned kOneLine = 10, kNoColumns = 13, kLong = 14;
  if (form == kNoColumns || form == kLong) return signed_number(at, end);
  return form >= kOneLine && form < kNoColumns ? static_cast<std::int64_t>(form - kOneLine) : 0;
}

} // namespace

std::uint32_t first_line_of(const Interpreter& python, const char* code) noexcept {
  const auto line = load<std::int32_t>(code, python.layout.first_line);
  return line > 0 ? static_cast<std::uint32_t>(line) : 0;
}

std::uint32_t line_of(const Interpreter& python, const char* code,
                      const char* instruction) noexcept {
  constexpr unsigned kInstructionBytes = 2, kNoLine = 15;
  const char* table = load(code, python.layout.linetable);
  const std::int64_t offset = instruction - (code + python.layout.instructions);
  if (load(table, kObjectType) != python.bytes_type || offset < 0)
    return first_line_of(python, code);
  const auto wanted = static_cast<std::uint64_t>(offset) / kInstructionBytes;
  const auto* at = reinterpret_cast<const unsigned char*>(table) + kBytesData;
  const unsigned char* end = at + load<std::int64_t>(table, kObjectSize);
  std::int64_t line = load<std::int32_t>(code, python.layout.first_line);
  std::uint64_t reached = 0;
  while (at < end) {
    const unsigned first = *at++, form = first >> 3 & 0xf;
    line += line_step(form, at, end);
    reached += (first & 7) + 1;
    if (wanted < reached) return form == kNoLine || line < 0 ? 0 : static_cast<std::uint32_t>(line);
    while (at < end && (*at & 0x80) == 0) ++at; // columns
  }
  return 0;
}

std::size_t name_of(const Interpreter& python, const char* code, char* buffer,
                    std::size_t size) noexcept {
  return copy(characters_of(python, load(code, python.layout.qualname)), 0, buffer, size);
}

std::size_t file_of(const Interpreter& python, const char* code, char* buffer,
                    std::size_t size) noexcept {
  const Characters path = characters_of(python, load(code, python.layout.filename));
  const std::uint64_t most = path.width == 1 && (path.count <= size) ? size : size / 4;
  const std::uint64_t first = path.count > most ? path.count - most : 0;
  return copy(path, first, buffer, size);
}

} // namespace gmt::interposer::python
