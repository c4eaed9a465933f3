// SPDX-License-Identifier: Apache-2.0
// What the calls of one process say about CUDA's objects: contexts, streams, pools, captures, peer
// access and the lives of all objects, as they are now. The heap feeds it with each call that it
// applies; all others read it.
#pragma once

#include <optional>

#include "analyzer/cuda_state/captures.h"
#include "analyzer/cuda_state/contexts.h"
#include "analyzer/cuda_state/launch_limits.h"
#include "analyzer/cuda_state/objects.h"
#include "analyzer/cuda_state/peer_access.h"
#include "analyzer/cuda_state/pools.h"
#include "analyzer/cuda_state/streams.h"

namespace gmt {

struct CudaState {
  ContextTable contexts;
  StreamTable streams;
  PoolTable pools;
  CaptureTable captures;
  PeerAccess peers;
  ObjectTable objects;
  LaunchLimitsTable launch_limits;

  void describe_context(const Event& e) { // a kContext record
    contexts.describe(e);
    peers.describe(e);
  }
  // A kLife record that CUDA accepted, without peer access. Gives the contexts that the call ended.
  std::optional<ContextEnd> on_life(const Event& e) {
    streams.on_life(e, contexts);
    pools.on_life(e);
    objects.on_life(e);
    const std::optional<ContextEnd> end = contexts.on_life(e);
    if (end) objects.end_with_context(e, *end, contexts);
    return end;
  }
};

} // namespace gmt
