// SPDX-License-Identifier: Apache-2.0
// Streams: creation, destruction, queries, synchronisation, host functions, and the memory
// operations on streams. Called through driver_api.def with the lock held. Handles 0, 1 and 2 are
// resolved by find_stream(). Invariant: a destroyed stream's handle answers
// CUDA_ERROR_INVALID_HANDLE.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/execution/prints.h"
#include "simulated_cuda/driver/green_contexts.h"
#include "simulated_cuda/driver/streams/late.h"
#include "simulated_cuda/driver/streams/operation.h"

#include "simulated_cuda/driver/state/lock.h"

#include <algorithm>
#include <cstring>

namespace gmt::sim {
namespace {

constexpr int kGreatestPriority = -5;

CUresult create(CUstream* out, unsigned flags, int priority) {
  if (out == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  auto stream = std::make_unique<Stream>();
  stream->context = this_thread().current();
  stream->flags = flags;
  stream->priority = std::clamp(priority, kGreatestPriority, 0);
  stream->id = state().new_id();
  *out = reinterpret_cast<CUstream>(state().streams.add(std::move(stream)));
  join_green_context(*out);
  return CUDA_SUCCESS;
}

template <class T>
CUresult write_value(CUstream stream, CUdeviceptr address, T value) {
  if (address % sizeof(T) != 0) return CUDA_ERROR_INVALID_VALUE;
  Stream* found = find_stream(stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->capture != nullptr) return not_simulated("while the stream is captured");
  wait_for_host_functions(*found);
  if (state().blocks.view(address, sizeof value) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto write = [address, value] {
    std::byte* bytes = state().blocks.view(address, sizeof value);
    if (bytes == nullptr) return; // freed meanwhile
    std::memcpy(bytes, &value, sizeof value);
    state().memory.mark_initialized(address, sizeof value);
    DriverLock::notify_all();
  };
  if (is_held(*found)) keep_action(*found, write);
  else write();
  return CUDA_SUCCESS;
}

template <class T>
bool satisfied(T current, T value, unsigned flags) {
  switch (flags & 3u) {
  case CU_STREAM_WAIT_VALUE_GEQ: return static_cast<std::make_signed_t<T>>(current - value) >= 0;
  case CU_STREAM_WAIT_VALUE_EQ: return current == value;
  case CU_STREAM_WAIT_VALUE_AND: return (current & value) != 0;
  default: return ~(current | value) != 0;
  }
}

// Another stream, a thread or a device brings a value that is not there yet.
template <class T>
CUresult wait_value(CUstream stream, CUdeviceptr address, T value, unsigned flags) {
  if (address % sizeof(T) != 0) return CUDA_ERROR_INVALID_VALUE;
  Stream* found = find_stream(stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->capture != nullptr) return not_simulated("while the stream is captured");
  wait_for_host_functions(*found);
  if (state().blocks.view(address, sizeof value) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto is_there = [address, value, flags] {
    const std::byte* bytes = state().blocks.view(address, sizeof value);
    if (bytes == nullptr) return true; // freed meanwhile
    return satisfied(__atomic_load_n(reinterpret_cast<const T*>(bytes), __ATOMIC_ACQUIRE), value,
                     flags);
  };
  if (is_held(*found) || !is_there()) hold(*found, is_there);
  return CUDA_SUCCESS;
}

} // namespace

CUresult stream_create(CUstream* out, unsigned flags) { return create(out, flags, 0); }
CUresult stream_create_with_priority(CUstream* out, unsigned flags, int priority) {
  return create(out, flags, priority);
}

CUresult stream_destroy(CUstream handle) {
  Stream* stream = state().streams.get(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  while (stream->pending_host_functions != 0) DriverLock::wait();
  if (stream->capture != nullptr && stream->capture->origin == stream) {
    Capture* capture = stream->capture;
    state().streams.for_each([&](Stream& other) {
      if (other.capture == capture) other.capture = nullptr;
    });
    if (capture->owns_graph) state().graphs.take(capture->graph);
    state().captures.take(capture);
  }
  state().events.for_each([&](Event& event) {
    if (event.stream == stream) event.stream = nullptr;
  });
  leave_green_context(handle);
  state().streams.take(stream);
  return CUDA_SUCCESS;
}

CUresult stream_synchronize(CUstream handle) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  run_late_of(*stream);
  wait_for_host_functions(*stream);
  flush_prints();
  return stream->context->sticky;
}

CUresult stream_query(CUstream handle) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (is_held(*stream)) {
    run_what_can_run();
    if (is_any_late_of(*stream)) return CUDA_ERROR_NOT_READY;
  }
  run_late_of(*stream);
  const std::chrono::milliseconds copying(state().settings.copy_milliseconds);
  const bool copies = std::chrono::steady_clock::now() - stream->last_copy < copying;
  const bool works = copies || host_functions_pending(*stream);
  return works ? CUDA_ERROR_NOT_READY : answer_after_late();
}

CUresult launch_host_func(CUstream handle, CUhostFn function, void* argument) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_HOST_NODE_PARAMS host{};
  host.fn = function;
  host.userData = argument;
  return submit(handle, host);
}

CUresult stream_add_callback(CUstream handle, CUstreamCallback callback, void* argument,
                             unsigned flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  run_late_before(*stream);
  post_stream_callback(stream, callback, argument);
  return CUDA_SUCCESS;
}

CUresult stream_get_flags(CUstream handle, unsigned* flags) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

CUresult stream_get_priority(CUstream handle, int* priority) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

CUresult stream_get_id(CUstream handle, unsigned long long* id) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = stream->id;
  return CUDA_SUCCESS;
}

CUresult stream_get_ctx(CUstream handle, CUcontext* context) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GreenContext* green = green_context_of(handle);
  *context = reinterpret_cast<CUcontext>(green != nullptr ? green->context : stream->context);
  return CUDA_SUCCESS;
}

CUresult stream_get_ctx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  if (CUresult bad = stream_get_ctx(handle, context); bad != CUDA_SUCCESS) return bad;
  const GreenContext* of = green_context_of(handle);
  if (green != nullptr) *green = of == nullptr ? nullptr : reinterpret_cast<CUgreenCtx>(*context);
  if (of != nullptr) *context = reinterpret_cast<CUcontext>(of->primary);
  return CUDA_SUCCESS;
}

CUresult stream_get_device(CUstream handle, CUdevice* device) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = stream->context->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult stream_get_attribute(CUstream handle, CUstreamAttrID id, CUstreamAttrValue* value) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value = stream->attributes[static_cast<int>(id)];
  return CUDA_SUCCESS;
}

CUresult stream_set_attribute(CUstream handle, CUstreamAttrID id, const CUstreamAttrValue* value) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  stream->attributes[static_cast<int>(id)] = *value;
  return CUDA_SUCCESS;
}

CUresult stream_copy_attributes(CUstream to, CUstream from) {
  Stream* target = find_stream(to);
  const Stream* source = find_stream(from);
  if (target == nullptr || source == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  target->attributes = source->attributes;
  return CUDA_SUCCESS;
}

CUresult stream_write_value_32(CUstream q, CUdeviceptr a, cuuint32_t v, unsigned) {
  return write_value(q, a, v);
}
CUresult stream_write_value_64(CUstream q, CUdeviceptr a, cuuint64_t v, unsigned) {
  return write_value(q, a, v);
}
CUresult stream_wait_value_32(CUstream q, CUdeviceptr a, cuuint32_t v, unsigned f) {
  return wait_value(q, a, v, f);
}
CUresult stream_wait_value_64(CUstream q, CUdeviceptr a, cuuint64_t v, unsigned f) {
  return wait_value(q, a, v, f);
}

} // namespace gmt::sim
