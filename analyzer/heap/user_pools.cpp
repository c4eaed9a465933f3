// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/user_pools.h"

#include <algorithm>
#include <utility>

namespace gmt {

void UserPools::on_life(const Event& e) {
  const event::Life& life = e.life();
  const std::uint64_t handle = life.handle;
  switch (life.op) {
  case trace::LifeOp::kCreate: pools_[handle] = {life.address(), life.bytes}; break;
  case trace::LifeOp::kReset: end_regions_of(e, Block::End::kFreed, handle); break;
  case trace::LifeOp::kDestroy:
    end_regions_of(e, Block::End::kContextEnded, handle);
    pools_.erase(handle);
    break;
  default: break;
  }
}

// In the order of their allocations, whatever order they were found in.
void UserPools::end(const Event& e, Block::End how, std::vector<Id> regions) {
  std::ranges::sort(regions, {}, [this](Id id) { return store_[id].allocated_at; });
  for (const Id id : regions) store_.retire(id, how, e);
}

void UserPools::end_regions_of(const Event& e, Block::End how, std::uint64_t handle) {
  const auto pool = pools_.find(handle);
  std::vector<Id> ended;
  store_.ordered(Space::kSubAllocation); // what was overlapped has ended before
  store_.for_each_live(Space::kSubAllocation, [&](Id id, const Block& block) {
    if (is_tensor(block)) return; // of another pool, which says itself what it takes back
    const std::uint64_t own = block.shape().pool; // a region that was resized names none
    const bool inside = own == 0 && pool != pools_.end() && pool->second.contains(block.address);
    if (handle == 0 || own == handle || inside) ended.push_back(id);
  });
  end(e, how, std::move(ended));
}

void UserPools::end_regions_inside(const Event& e, std::uint64_t begin, std::uint64_t bytes) {
  const LiveIndex::Ranges& regions = store_.ordered(Space::kSubAllocation);
  std::vector<Id> ended;
  auto region = regions.first_ending_after(begin);
  for (; region && (region.begin < begin || region.begin - begin < bytes);
       region = regions.first_ending_after(region.end)) {
    if (region.begin >= begin) ended.push_back(region.value);
  }
  end(e, Block::End::kContextEnded, std::move(ended));
}

const UserPool* UserPools::find_at(std::uint64_t address) const {
  for (const auto& [handle, pool] : pools_) {
    if (pool.contains(address)) return &pool;
  }
  return nullptr;
}

} // namespace gmt
