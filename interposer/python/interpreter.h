// SPDX-License-Identifier: Apache-2.0
// The CPython of this process: where it keeps what a stack of Python frames consists of. Most calls
// of CUDA are made without the GIL. So nothing that makes or counts a reference is called here, and
// only what belongs to the calling thread is read, by offsets. Nothing allocates or takes a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

namespace gmt::interposer::python {

template <class T = const char*> T load(const char* object, unsigned offset) noexcept {
  T value;
  std::memcpy(&value, object + offset, sizeof value);
  return value;
}

inline constexpr std::uint16_t kAbsent = 0xffff;

// Offsets of members, in bytes.
struct Layout {
  std::uint16_t thread_frame; // PyThreadState: the frame, or the _PyCFrame that has it
  std::uint16_t cframe_frame; // _PyCFrame; kAbsent from 3.13 on
  // _PyInterpreterFrame
  std::uint16_t code, previous, instruction, owner;
  std::uint16_t is_entry; // kAbsent from 3.12 on, where a frame of C's stands behind it instead
  // PyCodeObject
  std::uint16_t filename, qualname, linetable, first_line;
  std::uint16_t version; // kAbsent before 3.12
  std::uint16_t instructions;
  // Where the characters of a string begin
  std::uint16_t ascii_data, compact_data;
};

// Objects have these in all versions that are known.
inline constexpr unsigned kObjectType = 8, kObjectSize = 16;
inline constexpr unsigned kTextLength = 16, kTextState = 32, kBytesData = 32;

// Owners of a frame. From the first of these on it is C's or the interpreter's: no Python code runs
// in it.
inline constexpr std::uint8_t kOwnedByC = 3, kLastOwner = 4;

struct Interpreter {
  Layout layout;
  std::uint64_t start; // of its object file
  const char* code_type;
  const char* text_type;
  const char* bytes_type;
  const char* (*thread_state)();
  int (*is_finalizing)();
  const char* (*newest_interpreter)();
  const char* (*main_interpreter)();
};

// From 3.14 on the lowest bits of what a frame executes are tags, and not part of the address.
inline const char* code_of(const Interpreter& python, const char* frame) noexcept {
  constexpr std::uintptr_t kTags = 3;
  const auto tagged = load<std::uintptr_t>(frame, python.layout.code);
  return reinterpret_cast<const char*>(tagged & ~kTags);
}

// What is known of the process's Python.
enum class State : std::uint8_t {
  kNone,           // there is none
  kFound,          // its frames have not been looked at yet
  kSound,          // its frames are as its version's headers say
  kUnknownVersion, // too old, too new, or no release
  kFreeThreaded,
  kUnlikeHeaders, // its frames are not as its version's headers say
};

struct Found {
  State state;
  std::uint32_t version; // as Py_Version has it; 0 before 3.11
};

// Looks for Python among the loaded objects, unless it is known already. One thread at a time.
Found find_interpreter() noexcept;
// A library has been unloaded: forgets an interpreter that is gone, and says whether one is still
// there. One thread at a time.
bool check_interpreter() noexcept;

extern constinit std::atomic<const Interpreter*> current_interpreter;
// Null if there is none, or none that is known well enough.
inline const Interpreter* interpreter() noexcept {
  return current_interpreter.load(std::memory_order_acquire);
}

// Compares the frames below with what the version's headers say, without trusting them. Changes
// errno. False: they differ, and the interpreter is given up.
[[gnu::cold]] bool verify(const Interpreter& python, const char* frame) noexcept;
bool is_verified() noexcept;

} // namespace gmt::interposer::python
