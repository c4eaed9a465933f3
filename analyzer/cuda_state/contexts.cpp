// SPDX-License-Identifier: Apache-2.0

#include "analyzer/cuda_state/contexts.h"

#include "analyzer/model/device_number.h"
#include "trace/cuda_results.h"
#include "trace/object_class.h"

namespace gmt {

using trace::LifeOp;
using trace::ObjectClass;

bool is_sticky(std::uint16_t result) {
  switch (result) {
  case cuda::CUDA_ERROR_ECC_UNCORRECTABLE:
  case cuda::CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case cuda::CUDA_ERROR_CONTAINED:
  case cuda::CUDA_ERROR_ILLEGAL_ADDRESS:
  case cuda::CUDA_ERROR_LAUNCH_TIMEOUT:
  case cuda::CUDA_ERROR_ASSERT:
  case cuda::CUDA_ERROR_HARDWARE_STACK_ERROR:
  case cuda::CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case cuda::CUDA_ERROR_MISALIGNED_ADDRESS:
  case cuda::CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case cuda::CUDA_ERROR_INVALID_PC:
  case cuda::CUDA_ERROR_LAUNCH_FAILED:
  case cuda::CUDA_ERROR_TENSOR_MEMORY_LEAK:
  case cuda::CUDA_ERROR_EXTERNAL_DEVICE: return true;
  default: return false;
  }
}

void ContextTable::describe(const Event& e) {
  if (contexts_.size() <= e.context) contexts_.resize(std::size_t{e.context} + 1);
  Context& context = contexts_[e.context];
  const event::Context& view = e.described_context();
  context.handle = view.handle;
  context.device = device_number(view.device);
  context.is_primary = view.is_primary;
  context.is_known = true;
  if (first_context_ == 0) first_context_ = context.handle;
  if (first_context_ == context.handle) first_device_ = context.device;
}

void ContextTable::note_first(const event::Life& life) {
  if (first_context_ != 0) return;
  if (life.object == ObjectClass::kContext && life.op == LifeOp::kCreate)
    first_context_ = life.handle;
  if (life.object == ObjectClass::kPrimaryContext && life.op == LifeOp::kRetain) {
    first_context_ = life.context();
    first_device_ = device_number(life.device());
  }
}

std::optional<ContextEnd> ContextTable::on_life(const Event& e) {
  const event::Life& life = e.life();
  const LifeOp op = life.op;
  note_first(life);
  if (life.object == ObjectClass::kContext && op == LifeOp::kDestroy)
    return ContextEnd{.handle = life.handle};
  if (life.object != ObjectClass::kPrimaryContext) return std::nullopt;
  const ContextEnd end{.device = device_number(life.device())};
  if (op == LifeOp::kReset) return end;
  if (op == LifeOp::kRetain) ++retained_[life.device()];
  if (op != LifeOp::kRelease) return std::nullopt;
  // The last release resets. One too many for what we saw means that a retain went unseen: nothing
  // is known.
  const auto count = retained_.find(life.device());
  if (count == retained_.end() || count->second == 0 || --count->second != 0) return std::nullopt;
  last_release_ = e.order;
  return end;
}

void ContextTable::on_sticky_error(const Event& e) {
  if (sticky_code_ == 0) sticky_code_ = e.result;
  if (is_known(e.context)) {
    contexts_[e.context].is_dead = true;
    return;
  }
  for (Context& context : contexts_) context.is_dead = true;
}

bool ContextTable::is_ended_by(std::uint16_t id, const ContextEnd& end) const {
  if (!is_known(id))
    return contexts_.empty() && id == 0; // no context was ever described: there is but this one
  const Context& context = contexts_[id];
  if (end.device < 0) return context.handle == end.handle;
  return context.is_primary && context.device == end.device;
}

bool ContextTable::is_ended_by(std::uint16_t id, const Event& newest) const {
  if (newest.kind != EventKind::kLife || !newest.succeeded() || newest.from_runtime ||
      !is_known(id))
    return false;
  const event::Life& life = newest.life();
  const LifeOp op = life.op;
  const bool is_primary = life.object == ObjectClass::kPrimaryContext;
  if (is_primary &&
      (op == LifeOp::kReset || (op == LifeOp::kRelease && last_release_ == newest.order))) {
    return is_ended_by(id, ContextEnd{.device = device_number(life.device())});
  }
  const bool destroys = life.object == ObjectClass::kContext && op == LifeOp::kDestroy;
  return destroys && contexts_[id].handle == life.handle;
}

} // namespace gmt
