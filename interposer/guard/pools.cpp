// SPDX-License-Identifier: Apache-2.0
// A pool that is not in the table is a device's own: it can be fenced, and gets its place when its
// first block does.
#include "interposer/guard/pools.h"

#include <algorithm>

#include "interposer/guard/devices.h"
#include "interposer/guard/driver.h"
#include "interposer/guard/store/blocks.h"

namespace gmt::interposer {

namespace {

struct KnownPool {
  CUmemoryPool pool;
  std::uint64_t current, high, peers;
  CUdevice device; // -1 until it is known
  bool plain;
};
constexpr unsigned kMostPools = 256;
constinit KnownPool pools[kMostPools] = {}; // under the GuardLock

KnownPool* known_pool(CUmemoryPool pool, bool make) noexcept {
  KnownPool* free = nullptr;
  for (KnownPool& p : pools) {
    if (p.pool == pool) return &p;
    if (free == nullptr && p.pool == nullptr) free = &p;
  }
  if (!make || free == nullptr) return nullptr;
  *free = {pool, 0, 0, 0, -1, false};
  return free;
}

template <class Change> void with_pool(CUmemoryPool pool, bool make, Change change) noexcept {
  const GuardLock lock;
  if (!lock.held()) return;
  if (KnownPool* p = known_pool(pool, make)) change(*p);
}

} // namespace

void pool_was_made(CUmemoryPool pool, const CUmemPoolProps& properties) noexcept {
  const bool plain = properties.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
                     properties.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
                     properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
                     properties.maxSize != 0; // CUDA counts what it holds against that
  const CUdevice device = properties.location.id;
  with_pool(pool, true, [plain, device](KnownPool& p) noexcept {
    p.plain = plain;
    p.device = device;
  });
}

void pool_cannot_be_fenced(CUmemoryPool pool) noexcept {
  with_pool(pool, true, [](KnownPool& p) noexcept { p.plain = true; });
}

void pool_has_ended(CUmemoryPool pool) noexcept {
  with_pool(pool, false, [](KnownPool& p) noexcept { p = {}; });
}

bool pool_can_be_fenced(CUmemoryPool pool, CUdevice device) noexcept {
  bool plain = true;
  CUdevice owner = -1;
  with_pool(pool, true, [&](const KnownPool& p) noexcept {
    plain = p.plain;
    owner = p.device;
  });
  if (owner == device || plain) return !plain;
  CUmemoryPool own = nullptr; // a device's first pool was made by no call
  if (owner != -1 || guard_driver.first_pool(&own, device) != 0 || own != pool) return false;
  with_pool(pool, true, [device](KnownPool& p) noexcept { p.device = device; });
  return true;
}

void pool_access(CUmemoryPool pool, CUdevice device, bool may) noexcept {
  if (device < 0 || device >= kMostGuardDevices) return;
  const std::uint64_t bit = std::uint64_t{1} << device;
  with_pool(pool, true,
            [bit, may](KnownPool& p) noexcept { p.peers = may ? p.peers | bit : p.peers & ~bit; });
}

std::uint64_t pool_peers(CUmemoryPool pool) noexcept {
  std::uint64_t peers = 0;
  with_pool(pool, false, [&peers](const KnownPool& p) noexcept { peers = p.peers; });
  return peers;
}

void change_access(CUmemoryPool pool, CUdevice owner, CUdevice peer, bool may) noexcept {
  for (std::uint32_t number = 1;; ++number) {
    GuardBlock block;
    {
      const GuardLock lock;
      if (!lock.held() || number > guard_blocks.most()) return;
      block = guard_blocks.at(number);
    }
    if (block.state != BlockState::kLive || block.pool != pool || block.device == peer) continue;
    if (pool == nullptr && block.device != owner) continue;
    if (may) grant_access(block.mapping, block.mapped, block.device, std::uint64_t{1} << peer);
    else end_access(block.mapping, block.mapped, block.device, peer);
  }
}

void pool_grows(CUmemoryPool pool, std::uint64_t bytes) noexcept {
  with_pool(pool, true, [bytes](KnownPool& p) noexcept {
    p.current += bytes;
    p.high = std::max(p.high, p.current);
  });
}

void pool_shrinks(CUmemoryPool pool, std::uint64_t bytes) noexcept {
  with_pool(pool, false,
            [bytes](KnownPool& p) noexcept { p.current -= std::min(p.current, bytes); });
}

void reset_pool_high(CUmemoryPool pool) noexcept {
  with_pool(pool, false, [](KnownPool& p) noexcept { p.high = p.current; });
}

PoolUse pool_use(CUmemoryPool pool) noexcept {
  PoolUse use;
  with_pool(pool, false, [&use](const KnownPool& p) noexcept { use = {p.current, p.high}; });
  return use;
}

void forget_pools() noexcept {
  for (KnownPool& p : pools) p = {};
}

} // namespace gmt::interposer
