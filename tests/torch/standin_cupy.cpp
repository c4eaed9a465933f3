// SPDX-License-Identifier: Apache-2.0
// Stands for the module of CuPy that has its pool, by the names of its file and of its class. What
// it takes it keeps until the process ends.
#include <cstddef>

extern "C" int cudaMalloc(void**, std::size_t);

namespace {

struct SingleDeviceMemoryPool {
  __attribute__((noinline)) static void* take(std::size_t bytes) {
    void* block = nullptr;
    return cudaMalloc(&block, bytes) == 0 ? block : nullptr;
  }
};

} // namespace

extern "C" __attribute__((visibility("default"))) bool standin_fill_pool(std::size_t bytes) {
  void* const block = SingleDeviceMemoryPool::take(bytes);
  asm volatile("" ::: "memory"); // no tail call: this function stands on the stack
  return block != nullptr;
}
