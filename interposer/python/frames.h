// SPDX-License-Identifier: Apache-2.0
// The calling thread's Python frames, innermost first. One C frame of the evaluator holds a run of
// them. Behind the last one of a run there is an entry from C: the next frame belongs to another
// evaluator, farther out.
#pragma once

#include "interposer/python/interpreter.h"

namespace gmt::interposer::python {

// Null if this thread runs no Python, or the interpreter is being taken down.
inline const char* innermost_frame(const Interpreter& python) noexcept {
  const char* thread = python.thread_state();
  if (thread == nullptr || python.is_finalizing() != 0) return nullptr;
  const Layout& l = python.layout;
  const char* frame = load(thread, l.thread_frame);
  if (l.cframe_frame != kAbsent && frame != nullptr) frame = load(frame, l.cframe_frame);
  return frame;
}

// The thread's state is that of the main interpreter; which one runs is not known then.
inline bool has_several(const Interpreter& python) noexcept {
  return python.newest_interpreter() != python.main_interpreter();
}

// Calls visit(code, instruction) for each frame until it answers false; with null and a frame for
// an entry from C. From 3.12 on that frame is a variable of the evaluator in C.
template <class Visit> inline void walk(const Interpreter& python, const char* frame,
                                        Visit&& visit) noexcept {
  const Layout& l = python.layout;
  while (frame != nullptr) {
    if (load<std::uint8_t>(frame, l.owner) >= kOwnedByC) {
      if (!visit(nullptr, frame)) return;
    } else {
      const char* code = code_of(python, frame);
      if (load(code, kObjectType) != python.code_type) return;
      if (!visit(code, load(frame, l.instruction))) return;
      if (l.is_entry != kAbsent && load<std::uint8_t>(frame, l.is_entry) != 0 &&
          !visit(nullptr, frame))
        return;
    }
    frame = load(frame, l.previous);
  }
}

} // namespace gmt::interposer::python
