// SPDX-License-Identifier: Apache-2.0
// What stands in the place of malloc and free in the kernels of programs that were compiled without
// device_hooks. logged_calls.ptx is made of it: tests/rewriter/test_logged_calls.py says how.
#include <cstdlib>

#include <gpumemtrace/device_calls.h>

extern "C" __device__ __noinline__ void* gpumemtrace_logged_malloc(std::size_t bytes) {
  return gpumemtrace_malloc(bytes, nullptr, 0, nullptr);
}
extern "C" __device__ __noinline__ void gpumemtrace_logged_free(void* pointer) {
  gpumemtrace_free(pointer, nullptr, 0, nullptr);
}
