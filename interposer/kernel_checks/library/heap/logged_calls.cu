// SPDX-License-Identifier: Apache-2.0
// What stands in the place of malloc and free in the kernels of programs that were compiled without
// device_hooks. logged_calls.ptx is made of it: tests/rewriter/test_logged_calls.py says how.
#include <cstdlib>

#include <gpumemtrace/device_calls.h>

// `file` is null where the line is not known.
extern "C" __device__ __noinline__ void* gpumemtrace_logged_malloc_at(std::size_t bytes,
                                                                      const char* file,
                                                                      unsigned line,
                                                                      const char* function) {
  return gpumemtrace_malloc(bytes, file, line, function);
}
extern "C" __device__ __noinline__ void
gpumemtrace_logged_free_at(void* pointer, const char* file, unsigned line, const char* function) {
  gpumemtrace_free(pointer, file, line, function);
}
extern "C" __device__ __noinline__ void* gpumemtrace_logged_malloc(std::size_t bytes) {
  return gpumemtrace_logged_malloc_at(bytes, nullptr, 0, nullptr);
}
extern "C" __device__ __noinline__ void gpumemtrace_logged_free(void* pointer) {
  gpumemtrace_logged_free_at(pointer, nullptr, 0, nullptr);
}
