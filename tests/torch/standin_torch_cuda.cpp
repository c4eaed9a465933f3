// SPDX-License-Identifier: Apache-2.0
// Stands for the part of PyTorch's libtorch_cuda that caches pinned memory: a block of CUDA's for
// each buffer for which none is free. What is given back stays pinned.
#include <cstddef>
#include <map>

extern "C" int cudaHostAlloc(void**, std::size_t, unsigned);

namespace {

struct CachingHostAllocator {
  std::multimap<std::size_t, void*> free;
  __attribute__((noinline)) void* take(std::size_t bytes) {
    if (const auto at = free.find(bytes); at != free.end()) {
      void* const block = at->second;
      free.erase(at);
      return block;
    }
    void* block = nullptr;
    return cudaHostAlloc(&block, bytes, 0) == 0 ? block : nullptr;
  }
};
CachingHostAllocator allocator;

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED void* standin_pin(std::size_t bytes) {
  void* const block = allocator.take(bytes);
  asm volatile("" ::: "memory"); // no tail call: this function stands on the stack
  return block;
}
EXPORTED void standin_unpin(void* block, std::size_t bytes) {
  allocator.free.emplace(bytes, block);
}
