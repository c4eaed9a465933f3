// SPDX-License-Identifier: Apache-2.0

#include "analyzer/cuda_state/pools.h"

#include "trace/cuda_constants.h"
#include "trace/object_class.h"

namespace gmt {

using trace::LifeOp;

void PoolTable::on_life(const Event& e) {
  const event::Life& life = e.life();
  if (life.object != trace::ObjectClass::kPool) return;
  const Handle handle = life.handle;
  const LifeCall call = life_call(e);
  const auto device = static_cast<std::int32_t>(life.on_device());
  switch (life.op) {
  case LifeOp::kCreate:
    pools_[handle] = {
      .device = device < 0 ? -1 : device, .created = call, .destroyed = std::nullopt};
    if (const auto at = settings_.find(handle); at != settings_.end())
      at->second.release_threshold.reset();
    break;
  case LifeOp::kDestroy:
    pools_[handle].destroyed = call;
    // The default one is back
    std::erase_if(current_, [&](const auto& entry) { return entry.second == handle; });
    break;
  case LifeOp::kUse: current_[device] = handle; break;
  case LifeOp::kSet:
    if (life.attribute() == cuda::kPoolReleaseThreshold) {
      settings_[made_or_default(handle)].release_threshold = life.value;
    }
    break;
  case LifeOp::kTrim:
    if (life.kept_bytes() == 0) settings_[made_or_default(handle)].emptied = e.order & kOrderMask;
    break;
  default: break;
  }
}

std::optional<std::uint64_t> PoolTable::release_threshold(Handle pool) const {
  const auto at = settings_.find(pool);
  return at != settings_.end() ? at->second.release_threshold : std::nullopt;
}

std::uint64_t PoolTable::emptied(Handle pool) const {
  const auto at = settings_.find(pool);
  return at != settings_.end() ? at->second.emptied : 0;
}

} // namespace gmt
