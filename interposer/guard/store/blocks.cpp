// SPDX-License-Identifier: Apache-2.0
#include "interposer/guard/store/blocks.h"

#include <new>
#include <sys/mman.h>

namespace gmt::interposer {

constinit std::atomic<bool> GuardLock::taken_{false};
constinit GuardBlocks guard_blocks{};

namespace {

std::uint32_t unit_at(CUdeviceptr address) noexcept {
  return static_cast<std::uint32_t>((address - fenced_addresses.base()) / kGuardUnit);
}

} // namespace

bool GuardBlocks::begin(CUdeviceptr base, std::uint64_t units) noexcept {
  if (!space_.begin(units)) return false;
  void* table = mmap(nullptr, kMostBlocks * sizeof *blocks_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (table == MAP_FAILED) {
    space_.end();
    return false;
  }
  blocks_ = static_cast<GuardBlock*>(table);
  used_ = free_ = 0;
  fenced_addresses.begin(base, units * kGuardUnit);
  return true;
}

void GuardBlocks::forget() noexcept {
  fenced_addresses.forget();
  if (blocks_ == nullptr) return;
  munmap(blocks_, kMostBlocks * sizeof *blocks_);
  blocks_ = nullptr;
  space_.end();
}

std::uint32_t GuardBlocks::add(const GuardBlock& block) noexcept {
  std::uint32_t number = free_;
  if (number != 0) free_ = blocks_[number].next;
  else if (used_ + 1 < kMostBlocks) number = ++used_;
  if (number == 0) return 0;
  new (&blocks_[number]) GuardBlock(block);
  const std::uint32_t first = unit_at(block.mapping);
  space_.set_owner({first, static_cast<std::uint32_t>(units_for(block.mapped))}, number);
  return number;
}

void GuardBlocks::remove(std::uint32_t number) noexcept {
  GuardBlock& block = blocks_[number];
  const std::uint32_t first = unit_at(block.mapping);
  space_.set_owner({first, static_cast<std::uint32_t>(units_for(block.mapped))}, 0);
  block = {};
  block.next = free_;
  free_ = number;
}

std::uint32_t GuardBlocks::find_any(CUdeviceptr address) noexcept {
  return fenced_addresses.contain(address) ? space_.owner(unit_at(address)) : 0;
}

std::uint32_t GuardBlocks::find(CUdeviceptr address) noexcept {
  const std::uint32_t number = find_any(address);
  return number != 0 && blocks_[number].state == BlockState::kLive ? number : 0;
}

} // namespace gmt::interposer
