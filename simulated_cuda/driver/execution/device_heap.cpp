// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/device_heap.h"

#include <sys/mman.h>

namespace gmt::sim {
namespace {

void* map_pages(std::size_t bytes, int protection) {
  void* memory =
    mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

} // namespace

std::unique_ptr<ContextHeap> ContextHeap::create(executor::Memory& memory, std::size_t bytes) {
  std::unique_ptr<ContextHeap> made(new ContextHeap(memory, bytes));
  return made->map() ? std::move(made) : nullptr;
}

bool ContextHeap::map() {
  window_ = map_pages(bytes_, PROT_NONE);
  alias_ = map_pages(bytes_, PROT_READ | PROT_WRITE);
  if (window_ == nullptr || alias_ == nullptr) return false;
  const auto base = reinterpret_cast<std::uint64_t>(window_);
  has_region_ = memory_.add_region(base, bytes_, static_cast<std::byte*>(alias_));
  if (has_region_) heap_ = executor::DeviceHeap::create(memory_, base, bytes_);
  return heap_ != nullptr;
}

bool ContextHeap::contains(std::uint64_t address) const {
  const auto base = reinterpret_cast<std::uint64_t>(window_);
  return window_ != nullptr && address >= base && address - base < bytes_;
}

std::byte* ContextHeap::view(std::uint64_t address, std::size_t bytes) const {
  const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(window_);
  if (!contains(address) || bytes > bytes_ - offset) return nullptr;
  return static_cast<std::byte*>(alias_) + offset;
}

ContextHeap::~ContextHeap() {
  heap_.reset();
  if (has_region_) memory_.remove_region(reinterpret_cast<std::uint64_t>(window_));
  if (window_ != nullptr) munmap(window_, bytes_);
  if (alias_ != nullptr) munmap(alias_, bytes_);
}

} // namespace gmt::sim
