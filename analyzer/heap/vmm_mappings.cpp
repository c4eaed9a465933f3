// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/vmm_mappings.h"

namespace gmt {

using trace::MemoryKind;

// An imported handle is as large as what is mapped of it: no call says its size.
std::uint64_t VmmMappings::on_mapped(Block& mapping, std::uint64_t handle) {
  const Id id = store_.find_exact(Space::kHandle, handle);
  if (id == BlockStore::kNone) return 0;
  Block& physical = store_[id];
  mapping.device_slot = physical.device_slot;
  if (mapping.bytes > physical.bytes) {
    store_.use().grew(physical, mapping.bytes - physical.bytes, mapping.allocated_at);
    physical.bytes = mapping.bytes;
  }
  ++mapped_[physical.allocated_at].mappings;
  return physical.allocated_at;
}

void VmmMappings::on_unmapped(const Block& dead) {
  const auto at = mapped_.find(dead.shape().physical);
  if (at == mapped_.end() || --at->second.mappings != 0) return;
  if (at->second.is_released) store_.use().on_freed(at->second.released, Block::End::kFreed);
  mapped_.erase(at);
}

void VmmMappings::on_released(const Block& dead_handle) {
  const auto at = mapped_.find(dead_handle.allocated_at);
  if (at == mapped_.end()) return;
  at->second.is_released = true;
  at->second.released = dead_handle;
  store_.use().outlived(dead_handle);
}

void VmmMappings::on_access(const Event& e) {
  if (!e.succeeded() || (!e.use().reads && !e.use().writes)) return;
  const event::Use& use = e.use();
  const std::uint64_t begin = use.address;
  for (std::uint64_t at = begin; at - begin < use.bytes;) {
    const Id id = store_.find_id(Space::kAddress, at);
    if (id == BlockStore::kNone || store_[id].memory_kind != MemoryKind::kVmmMapping) return;
    store_[id].flags |= kHadAccess;
    at = BlockStore::end_of(store_[id]);
  }
}

std::vector<VmmMappings::Id> VmmMappings::mappings_in(std::uint64_t begin,
                                                      std::uint64_t bytes) const {
  const std::uint64_t end = begin > UINT64_MAX - bytes ? UINT64_MAX : begin + bytes;
  std::vector<Id> found;
  for (std::uint64_t at = begin; at < end;) {
    const Id id = store_.find_exact(Space::kAddress, at);
    if (id == BlockStore::kNone || store_[id].memory_kind != MemoryKind::kVmmMapping) break;
    found.push_back(id);
    at = BlockStore::end_of(store_[id]);
  }
  return found;
}

} // namespace gmt
