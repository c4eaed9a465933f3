// SPDX-License-Identifier: Apache-2.0
// What every program of this folder shares: calls that must succeed, and calls that CUDA must answer with a given
// error. A wrong answer ends the program with status 3, so that the simulated device cannot drift from the real one
// and the interposer cannot change a result. Macros, so that the frame of a call is the line that the test names.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

inline void check_answer(int expected, int got, const char* call, const char* file, int line)
{
  if (got == expected)
    return;
  std::fprintf(stderr, "%s:%d: %s answered %d, not %d\n", file, line, call, got, expected);
  std::exit(3);
}

// Whether the program was started with `word` as its first argument ("" = without arguments).
inline bool started_with(int argc, char** argv, const char* word)
{
  return std::strcmp(argc > 1 ? argv[1] : "", word) == 0;
}

#define ANSWERS(code, call) check_answer(code, static_cast<int>(call), #call, __FILE__, __LINE__)
#define CHECK(call) ANSWERS(0, call)

#ifdef CUDART_VERSION
// Most tests want memory that counts as used. Their own call must be the one in the stack, so this only touches.
#define TOUCH(pointer, bytes) CHECK(cudaMemset(pointer, 0, bytes))
#endif
