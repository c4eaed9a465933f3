// SPDX-License-Identifier: Apache-2.0
// Stream capture: begin, end, status, modes. Recording itself happens in submit().
// Called through driver_api.def with the lock held.
// Invariant: every stream that points to a Capture is detached before the Capture goes; an
// unfinished fork of a capture (another stream still has unjoined work) ends it with
// CUDA_ERROR_STREAM_CAPTURE_UNJOINED.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <algorithm>
#include <cstddef>

namespace gmt::sim {
namespace {

template <class Visit>
void for_each_stream(Visit visit) {
  state().streams.for_each(visit);
  for (const auto& context : state().contexts) {
    for (const auto& entry : context->per_thread) visit(*entry.second);
  }
}

CUresult begin(Stream* stream, CUstreamCaptureMode mode, Graph* graph,
               std::vector<GraphNode*> tail) {
  auto capture = std::make_unique<Capture>();
  capture->id = state().new_id();
  capture->mode = mode;
  capture->origin = stream;
  capture->thread = this_thread().id;
  capture->owns_graph = graph == nullptr;
  capture->graph = graph == nullptr ? state().graphs.add(std::make_unique<Graph>()) : graph;
  stream->capture = state().captures.add(std::move(capture));
  stream->capture_tail = std::move(tail);
  return CUDA_SUCCESS;
}

CUresult check_begin(const Stream* stream, CUstreamCaptureMode mode) {
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return stream->capture == nullptr ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

// Work of another stream that no node of the origin's tail depends on was never joined.
bool has_unjoined_work(const Capture& capture) {
  std::vector<const GraphNode*> reached(capture.origin->capture_tail.begin(),
                                        capture.origin->capture_tail.end());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const GraphNode* node : reached[i]->dependencies) {
      if (std::find(reached.begin(), reached.end(), node) == reached.end()) reached.push_back(node);
    }
  }
  bool unjoined = false;
  for_each_stream([&](const Stream& stream) {
    if (stream.capture != &capture || &stream == capture.origin) return;
    for (const GraphNode* node : stream.capture_tail) {
      if (std::find(reached.begin(), reached.end(), node) == reached.end()) unjoined = true;
    }
  });
  return unjoined;
}

CUstreamCaptureStatus status_of(const Stream& stream) {
  if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                     : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

} // namespace

CUresult refuse_while_capturing() {
  if (state().captures.size() == 0) return CUDA_SUCCESS;
  const ThreadState& thread = this_thread();
  if (thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  state().captures.for_each([&](Capture& capture) {
    const bool own = capture.thread == thread.id;
    const bool forbids = capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL
                           ? own || thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL
                           : own && capture.mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    if (!forbids) return;
    invalidate(capture);
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  });
  return result;
}

CUresult stream_begin_capture(CUstream handle, CUstreamCaptureMode mode) {
  Stream* stream = find_stream(handle);
  const CUresult bad = check_begin(stream, mode);
  return bad != CUDA_SUCCESS ? bad : begin(stream, mode, nullptr, {});
}

CUresult stream_begin_capture_to_graph(CUstream handle, CUgraph graph_handle,
                                       const CUgraphNode* dependencies, const CUgraphEdgeData*,
                                       std::size_t count, CUstreamCaptureMode mode) {
  Stream* stream = find_stream(handle);
  if (CUresult bad = check_begin(stream, mode); bad != CUDA_SUCCESS) return bad;
  Graph* graph = find_graph(graph_handle); // a conditional node's body as well
  if (graph == nullptr || (dependencies == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> tail;
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* node = find_node(dependencies[i]);
    if (node == nullptr || node->graph != graph) return CUDA_ERROR_INVALID_VALUE;
    tail.push_back(node);
  }
  return begin(stream, mode, graph, std::move(tail));
}

CUresult stream_end_capture(CUstream handle, CUgraph* graph_out) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Capture* capture = stream->capture;
  // Who captures into a graph has its handle (an H100's answer, driver 580)
  CUgraph unasked = nullptr;
  if (graph_out == nullptr && capture != nullptr && !capture->owns_graph) graph_out = &unasked;
  if (graph_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graph_out = nullptr;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != this_thread().id)
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  CUresult result = CUDA_SUCCESS;
  if (capture->invalidated) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (has_unjoined_work(*capture)) {
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  for_each_stream([&](Stream& other) {
    if (other.capture != capture) return;
    other.capture = nullptr;
    other.capture_tail.clear();
  });
  if (result == CUDA_SUCCESS) {
    *graph_out = reinterpret_cast<CUgraph>(capture->graph);
  } else if (capture->owns_graph) {
    state().graphs.take(capture->graph);
  }
  state().captures.take(capture);
  return result;
}

CUresult stream_is_capturing(CUstream handle, CUstreamCaptureStatus* status) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *status = status_of(*stream);
  return CUDA_SUCCESS;
}

CUresult stream_get_capture_info_v2(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                    CUgraph* graph, const CUgraphNode** dependencies,
                                    std::size_t* count) {
  const CUresult result = stream_is_capturing(handle, status);
  if (result != CUDA_SUCCESS || *status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return result;
  const Stream* stream = find_stream(handle);
  Capture* capture = stream->capture;
  capture->handles_out.clear();
  for (GraphNode* node : stream->capture_tail)
    capture->handles_out.push_back(reinterpret_cast<CUgraphNode>(node));
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(capture->graph);
  if (dependencies != nullptr) *dependencies = capture->handles_out.data();
  if (count != nullptr) *count = capture->handles_out.size();
  return CUDA_SUCCESS;
}

CUresult stream_get_capture_info_v3(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                    CUgraph* graph, const CUgraphNode** dependencies,
                                    const CUgraphEdgeData** edges, std::size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return stream_get_capture_info_v2(handle, status, id, graph, dependencies, count);
}

CUresult stream_update_capture_dependencies(CUstream handle, CUgraphNode* nodes,
                                            const CUgraphEdgeData*, std::size_t count,
                                            unsigned flags) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  std::vector<GraphNode*> tail;
  if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES) tail = stream->capture_tail;
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* node = find_node(nodes[i]);
    if (node == nullptr || node->graph != stream->capture->graph) return CUDA_ERROR_INVALID_VALUE;
    tail.push_back(node);
  }
  stream->capture_tail = std::move(tail);
  return CUDA_SUCCESS;
}

CUresult thread_exchange_stream_capture_mode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, this_thread().capture_mode);
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
