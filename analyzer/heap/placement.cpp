// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/placement.h"

#include "analyzer/model/device_number.h"

namespace gmt {
namespace {

constexpr std::uint16_t slot_of_device(std::int64_t device) {
  return static_cast<std::uint16_t>(
    device >= 0 && device_number(static_cast<std::uint64_t>(device)) >= 0 ? device + 1 : 0);
}

// Where the stream's work runs. Calls that name no context are of a time when there was but one.
std::uint16_t slot_of_work(std::uint64_t stream, std::uint16_t context, const CudaState& cuda) {
  const Stream* made = cuda.streams.find(stream);
  if (made != nullptr && made->device >= 0) return slot_of_device(made->device);
  return slot_of_device(context != 0 ? cuda.contexts.device_of(context)
                                     : cuda.contexts.first_device());
}

} // namespace

Placement placement_of_physical(const event::Allocation& alloc) {
  const std::uint64_t location = alloc.location();
  const bool is_host = static_cast<std::uint16_t>(location) == kHostSlot;
  return {is_host ? kHostSlot : slot_of_device(static_cast<std::int64_t>(location) - 1),
          alloc.shape->pool};
}

Placement placement_of_stream_ordered(const Block& block, PoolTable::Handle named,
                                      const CudaState& cuda) {
  if (const Pool* pool = cuda.pools.find(named); pool != nullptr && pool->is_alive()) {
    return {pool->device < 0 ? kHostSlot : slot_of_device(pool->device), named};
  }
  const std::uint16_t slot = slot_of_work(block.stream, block.context, cuda);
  if (named != 0 || slot == 0) return {slot, named};
  return {slot, cuda.pools.current_of(static_cast<std::int64_t>(slot) - 1)};
}

} // namespace gmt
