// SPDX-License-Identifier: Apache-2.0
// Python's part of call stacks: its frames are read anew at each call and interned per log together
// with the native stack below. What has been seen before costs a few loads a frame. A code object
// is written once, with its names.
#pragma once

#include <cstdint>

#include "interposer/log/id_table.h"
#include "interposer/python/interpreter.h"

namespace gmt::interposer {

class ThreadLog;

class PythonStacks {
public:
  // Id of the native stack with the Python frames of this thread, or of the native stack alone.
  // `next_id` is the last one that a stack of this log has got.
  std::uint32_t here(ThreadLog& log, const python::Interpreter& python, std::uint32_t native,
                     unsigned depth, std::uint32_t& next_id) noexcept;
  void clear() noexcept;

private:
  struct Capture;
  [[gnu::cold, gnu::noinline]] std::uint32_t add(const Capture& capture) noexcept;
  [[gnu::noinline]] void write(const Capture& capture, std::uint32_t id) noexcept;
  std::uint32_t code_id(const Capture& capture, const char* code) noexcept;
  [[gnu::noinline]] static void write_code(const Capture& capture, const char* code,
                                           std::uint32_t id) noexcept;

  IdTable stacks_;
  IdTable codes_;
  std::uint32_t last_code_ = 0;
};

} // namespace gmt::interposer
