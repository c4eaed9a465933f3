// SPDX-License-Identifier: Apache-2.0
// An interpreter that a test makes up, with the layout of CPython 3.13 or 3.11: code objects, texts
// and frames are bytes at the offsets of its headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "interposer/python/interpreter.h"

namespace gmt::interposer::python {
namespace {

constexpr Layout kLayout313{.thread_frame = 72,
                            .cframe_frame = kAbsent,
                            .code = 0,
                            .previous = 8,
                            .instruction = 56,
                            .owner = 70,
                            .is_entry = kAbsent,
                            .filename = 112,
                            .qualname = 128,
                            .linetable = 136,
                            .first_line = 68,
                            .version = 92,
                            .instructions = 200,
                            .ascii_data = 40,
                            .compact_data = 56};
constexpr Layout kLayout311{.thread_frame = 56,
                            .cframe_frame = 8,
                            .code = 32,
                            .previous = 48,
                            .instruction = 56,
                            .owner = 69,
                            .is_entry = 68,
                            .filename = 112,
                            .qualname = 128,
                            .linetable = 136,
                            .first_line = 68,
                            .version = kAbsent,
                            .instructions = 184,
                            .ascii_data = 48,
                            .compact_data = 72};

inline const char* made_up_thread = nullptr;
inline int is_finalizing = 0;
constexpr char kTypes[3] = {}, kInterpreters[2] = {};
inline const char* newest = kInterpreters;

class MadeUpPython {
public:
  explicit MadeUpPython(const Layout& layout) {
    python.layout = layout;
    python.code_type = kTypes;
    python.text_type = kTypes + 1;
    python.bytes_type = kTypes + 2;
    python.thread_state = [] { return made_up_thread; };
    python.is_finalizing = [] { return is_finalizing; };
    python.newest_interpreter = [] { return newest; };
    python.main_interpreter = [] { return kInterpreters; };
  }

  // Zeros, and then what put() writes.
  char* object(std::size_t bytes, const char* type = nullptr) {
    auto& words = memory_.emplace_back(bytes / 8 + 1);
    char* at = reinterpret_cast<char*>(words.data());
    put(at, kObjectType, type);
    return at;
  }
  template <class T> void put(char* object, unsigned offset, T value) {
    std::memcpy(object + offset, &value, sizeof value);
  }

  // Of ASCII, or of characters of 1, 2 or 4 bytes.
  char* ascii(const std::string& characters) { return text(characters, 1, true); }
  template <class Character> char* wide(const std::vector<Character>& characters) {
    const std::string data(reinterpret_cast<const char*>(characters.data()),
                           characters.size() * sizeof(Character));
    return text(data, sizeof(Character), false);
  }

  char* code(char* file, char* name, std::int32_t first_line, const std::string& lines,
             std::int64_t units, std::uint32_t version = 0) {
    const Layout& l = python.layout;
    char* table = object(kBytesData + lines.size() + 1, python.bytes_type);
    put(table, kObjectSize, static_cast<std::int64_t>(lines.size()));
    std::memcpy(table + kBytesData, lines.data(), lines.size());
    char* code = object(l.instructions + 2 * static_cast<std::size_t>(units), python.code_type);
    put(code, kObjectSize, units);
    put(code, l.filename, file);
    put(code, l.qualname, name);
    put(code, l.linetable, table);
    put(code, l.first_line, first_line);
    if (l.version != kAbsent) put(code, l.version, version);
    return code;
  }
  // A frame that stands at the code's unit.
  char* frame(const char* code, std::size_t unit, const char* previous, std::uint8_t owner = 0) {
    const Layout& l = python.layout;
    char* frame = object(96);
    put(frame, l.code, code);
    put(frame, l.previous, previous);
    put(frame, l.instruction, instruction(code, unit));
    put(frame, l.owner, owner);
    return frame;
  }
  const char* instruction(const char* code, std::size_t unit) const {
    return code == nullptr ? nullptr : code + python.layout.instructions + 2 * unit;
  }

  Interpreter python{};

private:
  char* text(const std::string& data, unsigned width, bool is_ascii) {
    const Layout& l = python.layout;
    const unsigned begin = is_ascii ? l.ascii_data : l.compact_data;
    char* text = object(begin + data.size() + 4, python.text_type);
    put(text, kTextLength, std::uint64_t{data.size() / width});
    put(text, kTextState, width << 2 | 1u << 5 | (is_ascii ? 1u << 6 : 0u));
    std::memcpy(text + begin, data.data(), data.size());
    return text;
  }
  std::deque<std::vector<std::uint64_t>> memory_;
};

} // namespace
} // namespace gmt::interposer::python
