// SPDX-License-Identifier: Apache-2.0
// Memory for the nodes of the allocator's own maps, straight from mmap: a cudaFree inside a signal
// handler may have interrupted malloc, so the allocator's bookkeeping must not need malloc. Owned
// by State. Invariant: used only with the driver lock held; blocks go back to the pool, the pool
// itself lives for ever.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory_resource>
#include <new>

namespace gmt::sim {

class MmapResource final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t) override {
    munmap(memory, bytes);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

class NodeMemory {
public:
  std::pmr::memory_resource* resource() { return &pool_; }

private:
  MmapResource pages_;
  std::pmr::unsynchronized_pool_resource pool_{std::pmr::pool_options{1024, 8192}, &pages_};
};

} // namespace gmt::sim
