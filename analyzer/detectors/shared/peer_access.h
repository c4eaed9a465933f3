// SPDX-License-Identifier: Apache-2.0
// Which devices reach each other's ordinary memory: those whose contexts were given access by
// cuCtxEnablePeerAccess (cuda.h). Pools and mappings have access lists of their own. Needs every
// kContext and kLife event.
#pragma once

#include <set>
#include <unordered_map>
#include <utility>

#include "analyzer/model/event.h"
#include "trace/cuda_results.h"

namespace gmt {

class PeerAccess {
public:
  void note(const Event& e) {
    if (e.kind == trace::Kind::kContext) {
      const trace::ContextView context(e);
      const int device = static_cast<int>(context.device());
      if (first_device_ < 0) first_device_ = device;
      has_several_devices_ = has_several_devices_ || device != first_device_;
      devices_[context.handle()] = device;
    } else {
      note_life(e);
    }
  }

  bool has_several_devices() const { return has_several_devices_; }

  // Whether kernels of device `own` may touch what device `peer` has.
  bool is_open(int own, int peer) const { return open_.contains({own, peer}); }
  bool is_unknown() const { return is_unknown_; } // given between contexts that were not described

private:

  int device_of(std::uint64_t context) const {
    const auto at = devices_.find(context);
    return at != devices_.end() ? at->second : -1;
  }

  // Of peer access: handle() is the peer's context, context() the one that gains it.
  void note_life(const Event& e) {
    using trace::LifeOp, trace::ObjectClass;
    const trace::LifeView life(e);
    const ObjectClass object = life.object();
    const LifeOp op = life.op();
    if (object == ObjectClass::kPeerAccess) {
      if (!e.succeeded() && e.result != cuda::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return;
      const int own = device_of(life.context()), peer = device_of(life.handle());
      if (own < 0 || peer < 0) is_unknown_ = true;
      else if (op == LifeOp::kCreate) open_.insert({own, peer});
      else if (op == LifeOp::kDestroy) open_.erase({own, peer});
    } else if (e.succeeded() && object == ObjectClass::kPrimaryContext && op == LifeOp::kRetain) {
      devices_[life.context()] = static_cast<int>(life.device());
    } else if (e.succeeded() && object == ObjectClass::kContext && op == LifeOp::kCreate) {
      devices_[life.handle()] = static_cast<int>(life.on_device());
    }
  }

  int first_device_ = -1;
  bool has_several_devices_ = false, is_unknown_ = false;
  std::unordered_map<std::uint64_t, int> devices_; // by CUcontext
  std::set<std::pair<int, int>> open_;             // a device, and the one whose memory it reaches
};

} // namespace gmt
