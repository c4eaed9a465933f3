// SPDX-License-Identifier: Apache-2.0
// What stands in the place of malloc and free in the kernels of programs that were compiled without
// device_hooks: they log, and mark the bytes of blocks. logged_calls.ptx is made of it:
// tests/rewriter/test_logged_calls.py says how.
#include <cstdlib>

#include <gpumemtrace/device_calls.h>

#include "interposer/kernel_checks/library/heap/heap_marks.h"

// `file` is null where the line is not known.
extern "C" __device__ __noinline__ void* gpumemtrace_logged_malloc_at(std::size_t bytes,
                                                                      const char* file,
                                                                      unsigned line,
                                                                      const char* function) {
  void* const pointer = gpumemtrace_malloc(bytes, file, line, function);
  if (const std::uint64_t heap = gpumemtrace_heap_table; heap != 0 && pointer != nullptr)
    gmt::device::mark_block(*reinterpret_cast<gmt::rewriter::HeapTable*>(heap),
                            reinterpret_cast<std::uint64_t>(pointer), bytes);
  return pointer;
}
extern "C" __device__ __noinline__ void
gpumemtrace_logged_free_at(void* pointer, const char* file, unsigned line, const char* function) {
  if (const std::uint64_t heap = gpumemtrace_heap_table; heap != 0 && pointer != nullptr)
    gmt::device::unmark_block(*reinterpret_cast<gmt::rewriter::HeapTable*>(heap),
                              reinterpret_cast<std::uint64_t>(pointer));
  gpumemtrace_free(pointer, file, line, function);
}
extern "C" __device__ __noinline__ void* gpumemtrace_logged_malloc(std::size_t bytes) {
  return gpumemtrace_logged_malloc_at(bytes, nullptr, 0, nullptr);
}
extern "C" __device__ __noinline__ void gpumemtrace_logged_free(void* pointer) {
  gpumemtrace_logged_free_at(pointer, nullptr, 0, nullptr);
}
