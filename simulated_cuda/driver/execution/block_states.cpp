// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/block_states.h"

#include <cstdint>

namespace gmt::sim {
namespace {

// Inside the region of its device.
bool is_part_of_device(const Block& block) {
  return block.kind == BlockKind::kDevice || block.kind == BlockKind::kPool ||
         block.kind == BlockKind::kGraph || block.kind == BlockKind::kGlobal;
}

std::byte* host_address(const Block& block) {
  return reinterpret_cast<std::byte*>(static_cast<std::intptr_t>(block.base) + block.to_host);
}

} // namespace

void block_added(executor::Memory& memory, const Block& block) {
  if (is_part_of_device(block)) {
    memory.allocate(block.base, block.size);
  } else if (block.kind == BlockKind::kVmm) {
    memory.add_region(block.base, block.size, host_address(block)); // nothing may use it yet
    memory.set_devices(block.base, block.devices);
  } else {
    memory.add_host_memory(block.base, block.size, host_address(block));
  }
}

void block_removed(executor::Memory& memory, const Block& block) {
  if (is_part_of_device(block)) memory.free(block.base, block.size);
  else memory.remove_region(block.base);
}

void mapping_changed(executor::Memory& memory, const Block& block, bool was_accessible,
                     bool written) {
  memory.set_devices(block.base, block.devices);
  if (block.is_accessible() == was_accessible) return;
  if (!block.is_accessible()) return memory.forget(block.base, block.size);
  memory.allocate(block.base, block.size);
  if (written) memory.mark_initialized(block.base, block.size);
}

} // namespace gmt::sim
