// SPDX-License-Identifier: Apache-2.0

#include "analyzer/cuda_state/peer_access.h"

#include "analyzer/model/device_number.h"
#include "trace/cuda_results.h"
#include "trace/object_class.h"

namespace gmt {

using trace::LifeOp;
using trace::ObjectClass;

void PeerAccess::describe(const Event& e) {
  const event::Context& context = e.described_context();
  const int device = device_number(context.device);
  if (device < 0) return;
  if (first_device_ < 0) first_device_ = device;
  has_several_devices_ = has_several_devices_ || device != first_device_;
  devices_[context.handle] = device;
}

void PeerAccess::on_life(const Event& e) {
  const event::Life& life = e.life();
  const ObjectClass object = life.object;
  if (object == ObjectClass::kPeerAccess) return on_access(e, life);
  if (!e.succeeded()) return;
  if (object == ObjectClass::kPrimaryContext && life.op == LifeOp::kRetain) {
    devices_[life.context()] = device_number(life.device());
  } else if (object == ObjectClass::kContext && life.op == LifeOp::kCreate) {
    devices_[life.handle] = device_number(life.on_device());
  }
}

int PeerAccess::device_of(std::uint64_t context) const {
  const auto at = devices_.find(context);
  return at != devices_.end() ? at->second : -1;
}

// handle() is the peer's context, context() the one that gains access to it.
void PeerAccess::on_access(const Event& e, const event::Life& life) {
  if (!e.succeeded() && e.result != cuda::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return;
  const int own = device_of(life.context()), peer = device_of(life.handle);
  if (own < 0 || peer < 0) is_unknown_ = true;
  else if (life.op == LifeOp::kCreate) open_.insert({own, peer});
  else if (life.op == LifeOp::kDestroy) open_.erase({own, peer});
}

} // namespace gmt
