// SPDX-License-Identifier: Apache-2.0

#include "analyzer/cuda_state/streams.h"

#include "trace/cuda_constants.h"
#include "trace/object_class.h"

namespace gmt {

void StreamTable::on_life(const Event& e, const ContextTable& contexts) {
  const event::Life& life = e.life();
  if (life.object != trace::ObjectClass::kStream) return;
  streams_.erase(life.handle);
  if (life.op != trace::LifeOp::kCreate) return;
  streams_[life.handle] = {.context = e.context,
                           .device = static_cast<std::int32_t>(contexts.device_of(e.context)),
                           .is_blocking = (life.flags() & cuda::kStreamNonBlocking) == 0};
}

} // namespace gmt
