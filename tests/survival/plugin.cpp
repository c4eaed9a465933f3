// SPDX-License-Identifier: Apache-2.0
// A plug-in that calls the driver from its own code. With -DWAIT its constructor waits for a thread
// that does.
#include <pthread.h>

#include "cuda_calls.h"

namespace {

__attribute__((noinline)) int allocate_and_free() {
  u64 address = 0;
  const int result = cuMemAlloc_v2(&address, 3333);
  return result | cuMemFree_v2(address);
}

#ifdef WAIT
__attribute__((constructor)) void begin() {
  pthread_t thread{};
  pthread_create(
    &thread, nullptr,
    [](void*) -> void* {
      u64 address = 0;
      cuMemAllocAsync(&address, 444, 0); // a row that was not called before
      cuMemFreeAsync(address, 0);
      allocate_and_free();
      return nullptr;
    },
    nullptr);
  pthread_join(thread, nullptr);
}
#endif

} // namespace

extern "C" __attribute__((visibility("default"))) int run() { return allocate_and_free(); }
