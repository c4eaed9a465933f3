// SPDX-License-Identifier: Apache-2.0
// Allocates as PyTorch's caching allocator does: by a function of that name, in a library of its name.
#include <dlfcn.h>
#include <stddef.h>

void* CUDACachingAllocator_malloc(size_t bytes) {
  int (*allocate)(void**, size_t) = (int (*)(void**, size_t))dlsym(RTLD_DEFAULT, "cudaMalloc");
  void* memory = NULL;
  return allocate(&memory, bytes) == 0 ? memory : NULL;
}
