// SPDX-License-Identifier: Apache-2.0
// The heap of malloc() in kernels: one for each context, as large as its limit, in memory of its
// own. Driver lock held. Invariant: the program's host side cannot use these addresses; of CUDA's
// calls only sets take them, as on a GPU.
#pragma once

#include "simulated_cuda/executor/executor.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gmt::sim {

class ContextHeap {
public:
  // Null if there is no memory for it.
  static std::unique_ptr<ContextHeap> create(executor::Memory& memory, std::size_t bytes);
  ~ContextHeap();
  ContextHeap(const ContextHeap&) = delete;
  ContextHeap& operator=(const ContextHeap&) = delete;

  executor::DeviceHeap* heap() const { return heap_.get(); }
  bool contains(std::uint64_t address) const;
  // Where the driver finds the bytes; null if not all of them lie in the heap.
  std::byte* view(std::uint64_t address, std::size_t bytes) const;

private:
  ContextHeap(executor::Memory& memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
  bool map();

  executor::Memory& memory_;
  std::size_t bytes_;
  void* window_ = nullptr; // what kernels see: no access for the host
  void* alias_ = nullptr;
  bool has_region_ = false;
  std::unique_ptr<executor::DeviceHeap> heap_;
};

} // namespace gmt::sim
