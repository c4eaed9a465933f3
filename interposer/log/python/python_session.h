// SPDX-License-Identifier: Apache-2.0
// The process's Python, as the session knows it: finds it, and says in the trace's `info` which one
// it is and why its frames are not there.
#pragma once

#include "interposer/python/interpreter.h"

namespace gmt::interposer {

// Looks for Python unless it is known. One thread at a time.
void look_for_python() noexcept;
// A library has been unloaded.
void check_python() noexcept;
void forget_python() noexcept; // a forked child's trace says it again

// As python::verify(); says in the trace what came of it. errno is kept.
[[gnu::cold]] bool verify_python(const python::Interpreter& python, const char* frame) noexcept;
[[gnu::cold]] void note_subinterpreters() noexcept;

} // namespace gmt::interposer
