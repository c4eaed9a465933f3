// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/kernel_table.h"

#include <cstdint>

namespace gmt::interposer::kernel_checks {

namespace {

constexpr std::size_t kFirstSlots = 256;

// Handles are addresses, so their lowest bits are alike.
std::size_t mix(CUfunction handle) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(handle);
  return static_cast<std::size_t>(address * 0x9e3779b97f4a7c15 >> 32);
}

} // namespace

KernelTable::Slot& KernelTable::Slots::at(CUfunction handle) const noexcept {
  for (std::size_t i = mix(handle);; ++i) {
    Slot& slot = slots[i & mask];
    const CUfunction there = slot.handle.load(std::memory_order_acquire);
    if (there == handle || there == nullptr) return slot;
  }
}

const Kernel* KernelTable::find(CUfunction handle) const noexcept {
  const Slots* slots = slots_.load(std::memory_order_acquire);
  if (slots == nullptr) return nullptr;
  const Slot& slot = slots->at(handle);
  const bool is_there = slot.handle.load(std::memory_order_acquire) == handle;
  return is_there ? slot.kernel.load(std::memory_order_acquire) : nullptr;
}

// Handles that were forgotten are left behind.
void KernelTable::grow() {
  const Slots* before = slots_.load(std::memory_order_relaxed);
  std::size_t live = 0;
  for (std::size_t i = 0; before != nullptr && i <= before->mask; ++i)
    live += before->slots[i].kernel.load(std::memory_order_relaxed) != nullptr ? 1 : 0;
  std::size_t count = kFirstSlots;
  while (count < 4 * (live + 1)) count *= 2;
  auto slots = std::make_unique<const Slots>(count);
  for (std::size_t i = 0; before != nullptr && i <= before->mask; ++i) {
    const Slot& old = before->slots[i];
    const Kernel* kernel = old.kernel.load(std::memory_order_relaxed);
    if (kernel == nullptr) continue;
    const CUfunction handle = old.handle.load(std::memory_order_relaxed);
    Slot& slot = slots->at(handle);
    slot.kernel.store(kernel, std::memory_order_relaxed);
    slot.handle.store(handle, std::memory_order_relaxed);
  }
  used_ = live;
  slots_.store(slots.get(), std::memory_order_release);
  all_.push_back(std::move(slots));
}

const Kernel* KernelTable::add(CUfunction handle, const Kernel* kernel) {
  const Slots* slots = slots_.load(std::memory_order_relaxed);
  if (slots == nullptr || 2 * (used_ + 1) > slots->mask + 1) grow();
  Slot& slot = slots_.load(std::memory_order_relaxed)->at(handle);
  const Kernel* known = slot.kernel.load(std::memory_order_relaxed);
  if (known != nullptr) return known;
  slot.kernel.store(kernel, std::memory_order_release);
  if (slot.handle.load(std::memory_order_relaxed) == nullptr) {
    slot.handle.store(handle, std::memory_order_release);
    ++used_;
  }
  return kernel;
}

void KernelTable::clear() noexcept {
  const Slots* slots = slots_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; slots != nullptr && i <= slots->mask; ++i)
    slots->slots[i].kernel.store(nullptr, std::memory_order_release);
}

} // namespace gmt::interposer::kernel_checks
