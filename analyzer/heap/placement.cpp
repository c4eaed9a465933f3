// SPDX-License-Identifier: Apache-2.0
// On which device a block lies. Most memory is of its context's device; physical memory (VMM) and pools name
// their own place when they are made, and stream-ordered memory comes from a pool: the one that the call names,
// else the one that the stream's device was given (cuDeviceSetMemPool), else the device's default pool. Called
// by heap.cpp at births and at the lives of contexts, pools and streams.

#include "analyzer/heap/heap_state.h"

namespace gmt {

using trace::Family;
using trace::LifeOp;
using trace::ObjectClass;

namespace {

constexpr std::uint16_t place_of_device(std::int64_t device) {
  return static_cast<std::uint16_t>(device >= 0 && device < kHostPlace - 1 ? device + 1 : 0);
}

} // namespace

void Heap::State::on_context(const Event& e) {
  if (contexts.size() <= e.context) contexts.resize(std::size_t{e.context} + 1);
  Context& context = contexts[e.context];
  const trace::ContextView view(e);
  context.handle = view.handle();
  context.device = static_cast<std::int32_t>(view.device());
  context.primary = view.is_primary() == 1;
  context.known = true;
  store.use().describe_context(e.context, static_cast<int>(context.device));
  if (first_context == 0) first_context = context.handle;
  if (first_context == context.handle) first_device = context.device;
}

void Heap::State::note_place(const Event& e) {
  const trace::LifeView life(e);
  const ObjectClass object = life.object();
  const LifeOp op = life.op();
  if (object == ObjectClass::kContext && op == LifeOp::kCreate && first_context == 0) first_context = life.handle();
  if (object == ObjectClass::kPrimaryContext && op == LifeOp::kRetain && first_context == 0) {
    first_context = life.context();
    first_device = static_cast<std::int32_t>(life.device());
  }
  if (object == ObjectClass::kStream) {
    const std::int64_t device = device_of_id(e.context);
    if (op == LifeOp::kCreate && device >= 0) stream_places[life.handle()] = place_of_device(device);
    else stream_places.erase(life.handle());
  }
  if (object != ObjectClass::kPool) return;
  const auto device = static_cast<std::int32_t>(life.on_device()); // of a host's pool: -1
  if (op == LifeOp::kCreate) pool_places[life.handle()] = device < 0 ? kHostPlace : place_of_device(device);
  if (op == LifeOp::kUse) current_pools[device] = life.handle();
  if (op == LifeOp::kDestroy) { // the default one is back
    std::erase_if(current_pools, [&](const auto& entry) { return entry.second == life.handle(); });
    pool_places.erase(life.handle());
  }
}

// That of the stream's work. Calls that name no context are of a time when there was but one.
std::uint16_t Heap::State::place_of_work(const Block& block) const {
  const auto stream = stream_places.find(block.stream);
  if (stream != stream_places.end()) return stream->second;
  return place_of_device(block.context != 0 ? device_of_id(block.context) : first_device);
}

std::uint64_t Heap::State::place(Block& block, std::uint64_t named_pool) {
  if (block.family == Family::kVmmHandle) {
    block.place = static_cast<std::uint16_t>(block.stream); // AllocView::location()
    block.stream = 0;
  }
  if (block.family != Family::kStreamOrdered) return named_pool;
  if (const auto pool = pool_places.find(named_pool); pool != pool_places.end()) {
    block.place = pool->second;
    return named_pool;
  }
  block.place = place_of_work(block);
  if (named_pool != 0 || current_pools.empty() || block.place == 0) return named_pool;
  const auto current = current_pools.find(static_cast<std::int64_t>(block.place) - 1);
  return current != current_pools.end() ? current->second : 0;
}

int Heap::device_of(const Block& block) const {
  if (block.place == kHostPlace) return -1;
  return block.place != 0 ? static_cast<int>(block.place) - 1 : device_of_context(block.context);
}

int Heap::device_of_context(std::uint16_t context) const {
  return static_cast<int>(state_->device_of_id(context));
}

} // namespace gmt
