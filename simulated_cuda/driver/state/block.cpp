// SPDX-License-Identifier: Apache-2.0
// Lookups in the table of live blocks. Called with the driver lock held.
// Neighbouring VMM mappings of one reservation serve as one range, as on the device: nothing else
// may be crossed.
#include "simulated_cuda/driver/state/block.h"

#include "simulated_cuda/driver/execution/block_states.h"
#include "simulated_cuda/driver/state/device.h"

namespace gmt::sim {

bool Block::is_listed_for(int ordinal) const {
  if (kind != BlockKind::kPool || device->ordinal == ordinal) return (devices >> ordinal & 1) != 0;
  const auto known = pool->access_of_others.find(ordinal);
  return known != pool->access_of_others.end() &&
         known->second == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

// A pool has a list of its own, and nothing opens a variable.
static bool is_apart(const Block& block) {
  return block.kind == BlockKind::kPool || block.kind == BlockKind::kGlobal;
}

Block& BlockTable::add(Block block) {
  block.id = next_id_++;
  remove(block.base);
  if (is_apart(block)) ++block.device->blocks_apart;
  block_added(memory_, block);
  return blocks_.emplace(block.base, block).first->second;
}

void BlockTable::remove(CUdeviceptr base) {
  const auto it = blocks_.find(base);
  if (it == blocks_.end()) return;
  if (is_apart(it->second)) --it->second.device->blocks_apart;
  block_removed(memory_, it->second);
  blocks_.erase(it);
}

Block* BlockTable::at_base(CUdeviceptr base) {
  auto it = blocks_.find(base);
  return it == blocks_.end() ? nullptr : &it->second;
}

Block* BlockTable::containing(CUdeviceptr address) {
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return nullptr;
  --it;
  return it->second.contains(address) ? &it->second : nullptr;
}

bool BlockTable::overlaps(CUdeviceptr address, std::size_t bytes) {
  if (containing(address) != nullptr) return true;
  auto next = blocks_.lower_bound(address);
  return next != blocks_.end() && next->first - address < bytes;
}

const Block* BlockTable::nearest(CUdeviceptr address) const {
  const auto after = blocks_.upper_bound(address);
  const Block* behind = after != blocks_.end() ? &after->second : nullptr;
  if (after == blocks_.begin()) return behind;
  const Block* before = &std::prev(after)->second;
  if (before->contains(address) || behind == nullptr) return before;
  return address - (before->base + before->size) <= behind->base - address ? before : behind;
}

std::byte* BlockTable::view(CUdeviceptr address, std::size_t bytes) {
  const Block* block = containing(address);
  if (block == nullptr || !block->is_accessible()) return nullptr;
  auto* start = reinterpret_cast<std::byte*>(static_cast<std::intptr_t>(address) + block->to_host);
  std::size_t covered = block->size - (address - block->base);
  while (covered < bytes) {
    const Block* next =
      block->kind == BlockKind::kVmm ? at_base(block->base + block->size) : nullptr;
    if (next == nullptr || !next->is_accessible() || next->to_host != block->to_host)
      return nullptr;
    covered += next->size;
    block = next;
  }
  return start;
}

} // namespace gmt::sim
