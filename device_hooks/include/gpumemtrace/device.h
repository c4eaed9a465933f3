// SPDX-License-Identifier: Apache-2.0
// Logs every malloc, free, __nv_aligned_device_malloc, new and delete in the kernels of a file.
// Included first in the file, or forced in by gpumemtrace_instrument(target) in CMake, by
// `gpumemtrace nvcc ...`, or by the compiler's option -include.
//
// Calls are renamed by object-like macros (device_rename.h), because function-like ones break code
// that has members called malloc or free, as Thrust does. The headers that declare malloc and free
// come before, so that they are declared by their own names. Host code calls the C library as
// before. Code that takes the address of free or malloc does not compile with the renaming: define
// GPUMEMTRACE_NO_RENAME for such a file, or write #undef free (and malloc) in it behind its
// includes; calls of gpumemtrace_malloc() and gpumemtrace_free() are logged there all the same.
// GPUMEMTRACE_NO_OPERATORS leaves new and delete alone, for programs that define their own. Files
// that are not CUDA are left as they are. In clang's CUDA mode, which has no
// __nv_aligned_device_malloc, new and delete are logged if <new> is first included here.
#if defined(__CUDACC__) && !defined(GPUMEMTRACE_DEVICE_H)
#define GPUMEMTRACE_DEVICE_H

#if __cplusplus < 201703L
#error "gpumemtrace/device.h needs C++17: compile with -std=c++17 or newer"
#endif

#if !defined(GPUMEMTRACE_NO_OPERATORS)
#include "gpumemtrace/detail/device_operators.h" // first: clang's own come with <new>
#endif

#include <malloc.h>
#include <stdlib.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "gpumemtrace/device_calls.h"
#if !defined(GPUMEMTRACE_NO_RENAME)
#include "gpumemtrace/device_rename.h"
#endif

#endif
