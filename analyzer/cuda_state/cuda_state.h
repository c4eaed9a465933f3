// SPDX-License-Identifier: Apache-2.0
// What the calls of one process say about CUDA's objects: contexts, streams, pools and captures as they are now. The
// heap feeds it with each accepted call before it applies that call itself; everybody else reads it.
#pragma once

#include <optional>

#include "analyzer/cuda_state/captures.h"
#include "analyzer/cuda_state/contexts.h"
#include "analyzer/cuda_state/pools.h"
#include "analyzer/cuda_state/streams.h"

namespace gmt {

struct CudaState {
  ContextTable contexts;
  StreamTable streams;
  PoolTable pools;
  CaptureTable captures;

  // A kLife record that CUDA accepted; the contexts that the call ended.
  std::optional<ContextEnd> on_life(const Event& e) {
    streams.on_life(e, contexts);
    pools.on_life(e);
    captures.on_life(e);
    return contexts.on_life(e);
  }
};

} // namespace gmt
