// SPDX-License-Identifier: Apache-2.0
// submit() and execute(): the heart of every stream-ordered call. Also which stream a handle means.
// Lock held.
// Invariant: a stream that captures executes nothing; a stream that does not has no work left but
// host functions and, with --late, what simulated_cuda/driver/streams/late.h keeps.
#include "simulated_cuda/driver/streams/operation.h"

#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/execution/primary.h"
#include "simulated_cuda/driver/streams/conditional.h"
#include "simulated_cuda/driver/streams/graph_position.h"
#include "simulated_cuda/driver/streams/late.h"

namespace gmt::sim {
namespace {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

CUresult check(const Operation& operation) {
  return std::visit(Overload{
                      [](const KernelOperation& kernel) { return check_launch(kernel); },
                      [](const CUDA_MEMCPY3D& copy) { return check_copy(copy); },
                      [](const CUDA_MEMSET_NODE_PARAMS& set) { return check_set(set); },
                      [](const auto&) { return CUDA_SUCCESS; },
                    },
                    operation);
}

CUresult run_graph(Stream& stream, const Graph& graph, unsigned long long flags) {
  GraphOrder order;
  const GraphNode* last = nullptr;
  for (GraphNode* node : graph.in_order()) {
    order.begin(node->dependencies);
    const bool is_behind_last = node->dependencies.size() == 1 && node->dependencies[0] == last;
    follow_node(node->operation, is_behind_last ? &last->operation : nullptr);
    last = node;
    const CUresult result = execute(stream, node->operation, flags);
    if (result != CUDA_SUCCESS) return result;
    order.end(node);
  }
  return CUDA_SUCCESS;
}

// The allocation node of this graph whose memory contains the address; nullptr if none does.
const AllocOperation* find_graph_memory(const Graph& graph, CUdeviceptr address) {
  for (const auto& node : graph.nodes) {
    const auto* alloc = std::get_if<AllocOperation>(&node->operation);
    if (alloc != nullptr && address - alloc->params.dptr < alloc->params.bytesize) return alloc;
  }
  return nullptr;
}

CUresult make_graph_memory(AllocOperation& alloc) {
  Device* device = state().device(alloc.params.poolProps.location.id);
  if (device == nullptr || alloc.params.bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  const CUdeviceptr address = device->take(alloc.params.bytesize);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  alloc.memory = std::make_shared<GraphMemory>(device, address, alloc.params.bytesize);
  alloc.params.dptr = address;
  return CUDA_SUCCESS;
}

bool uses_graph_memory(const Operation& operation, const Graph& graph) {
  const auto inside = [&](CUdeviceptr address) {
    return find_graph_memory(graph, address) != nullptr;
  };
  if (const auto* copy = std::get_if<CUDA_MEMCPY3D>(&operation))
    return inside(copy->dstDevice) || inside(copy->srcDevice);
  if (const auto* set = std::get_if<CUDA_MEMSET_NODE_PARAMS>(&operation)) return inside(set->dst);
  return false;
}

CUresult capture_operation(Stream& stream, Operation operation, GraphNode** node) {
  Capture& capture = *stream.capture;
  if (capture.invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  CUresult result = CUDA_SUCCESS;
  if (auto* alloc = std::get_if<AllocOperation>(&operation)) {
    result = make_graph_memory(*alloc);
  } else if (const auto* release = std::get_if<FreeOperation>(&operation)) {
    // Only an allocation made in this graph may be freed while capturing.
    const AllocOperation* alloc_node = find_graph_memory(*capture.graph, release->address);
    if (alloc_node == nullptr || alloc_node->params.dptr != release->address)
      result = CUDA_ERROR_INVALID_VALUE;
  } else if (!uses_graph_memory(operation, *capture.graph)) {
    result = check(operation); // memory of an allocation node exists only from the launch on
  }
  if (result != CUDA_SUCCESS) return result;
  GraphNode* added = capture.graph->add(std::move(operation), stream.capture_tail);
  stream.capture_tail = {added};
  if (node != nullptr) *node = added;
  return CUDA_SUCCESS;
}

// Work on the legacy stream would have to wait for the capturing streams, which never run: error
// 906.
CUresult refuse_implicit_dependency(const Stream& stream) {
  if (!stream.is_legacy) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  state().captures.for_each([&](Capture& capture) {
    const bool blocking = (capture.origin->flags & CU_STREAM_NON_BLOCKING) == 0;
    if (capture.origin->context != stream.context || !blocking || capture.invalidated) return;
    invalidate(capture);
    result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  });
  return result;
}

} // namespace

void invalidate(Capture& capture) { capture.invalidated = true; }

Stream* find_stream(CUstream handle) {
  Context* context = this_thread().current();
  if (context == nullptr || !context->alive) return nullptr;
  const bool own =
    handle == CU_STREAM_PER_THREAD || (handle == nullptr && this_thread().per_thread_default);
  if (!own && handle != nullptr && handle != CU_STREAM_LEGACY) return state().streams.get(handle);
  std::unique_ptr<Stream>& slot = own ? context->per_thread[this_thread().id] : context->legacy;
  if (slot == nullptr) {
    slot = std::make_unique<Stream>();
    slot->context = context;
    slot->id = state().new_id();
    slot->is_legacy = !own;
  }
  return slot.get();
}

CUresult submit(CUstream handle, Operation operation, GraphNode** node) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) return capture_operation(*stream, std::move(operation), node);
  if (CUresult refused = refuse_implicit_dependency(*stream); refused != CUDA_SUCCESS)
    return refused;
  if (std::holds_alternative<CUDA_MEMCPY3D>(operation))
    stream->last_copy = std::chrono::steady_clock::now();
  const Timing timing = timing_of_call();
  const auto* copy = std::get_if<CUDA_MEMCPY3D>(&operation);
  if (may_keep(timing, *stream) && (copy == nullptr || !uses_pageable_memory(*copy))) {
    if (CUresult bad = check(operation); bad != CUDA_SUCCESS) return bad;
    keep(*stream, std::move(operation));
    return CUDA_SUCCESS;
  }
  run_late_before(*stream);
  if (CUresult ended = answer_after_late(); ended != CUDA_SUCCESS) return ended;
  return execute(*stream, operation, 0);
}

CUresult execute(Stream& stream, Operation& operation, unsigned long long graph_flags) {
  if (!std::holds_alternative<CUDA_HOST_NODE_PARAMS>(operation)) wait_for_host_functions(stream);
  if (graph_position().is_in_launch) observe_node(operation, stream);
  return std::visit(
    Overload{
      [](EmptyOperation&) { return CUDA_SUCCESS; },
      [&](KernelOperation& kernel) { return do_launch(kernel, stream); },
      [](CUDA_MEMCPY3D& copy) { return do_copy(copy); },
      [](CUDA_MEMSET_NODE_PARAMS& set) { return do_set(set); },
      [&](CUDA_HOST_NODE_PARAMS& host) {
        post_host_function(&stream, host.fn, host.userData);
        return CUDA_SUCCESS;
      },
      [&](AllocOperation& alloc) { return allocate_graph_block(alloc, graph_flags); },
      [](FreeOperation& release) { return free_stream_ordered(release.address); },
      [&](EventRecordOperation& record) {
        Event* event = state().events.get(record.event);
        if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        event->recorded = true;
        event->time = std::chrono::steady_clock::now();
        return CUDA_SUCCESS;
      },
      [](EventWaitOperation&) { return CUDA_SUCCESS; },
      [&](ChildOperation& child) { return run_graph(stream, *child.graph, graph_flags); },
      [&](ConditionalOperation& conditional) {
        return run_conditional(stream, conditional, [&](const Graph& body) {
          return run_graph(stream, body, graph_flags);
        });
      },
    },
    operation);
}

CUresult prepare_alloc_node(AllocOperation& alloc) { return make_graph_memory(alloc); }

CUresult allocate_graph_block(AllocOperation& alloc, unsigned long long graph_flags) {
  State& s = state();
  if (Block* live = s.blocks.at_base(alloc.params.dptr)) {
    if ((graph_flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) == 0)
      return CUDA_ERROR_INVALID_VALUE;
    release_block(*live);
  }
  Block block;
  block.base = alloc.params.dptr;
  block.size = alloc.params.bytesize;
  block.to_host = alloc.memory->device->to_host();
  block.kind = BlockKind::kGraph;
  block.context = this_thread().current();
  block.device = alloc.memory->device;
  s.blocks.add(block);
  alloc.memory->device->graph_memory.grow(block.size);
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
