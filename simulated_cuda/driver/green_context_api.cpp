// SPDX-License-Identifier: Apache-2.0
// Resources of devices, and green contexts. What is answered, and which parts are made, is what an
// H100 with driver 580 did: the handle of a green context is that of its context, for instance.
// Invariant: a GreenContext is never deleted, so that its handle is
// known when it has ended.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/green_contexts.h"
#include "simulated_cuda/driver/streams/late.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace gmt::sim {
namespace {

constexpr unsigned kGreenProcessors = 132; // of an H100
constexpr unsigned kSmallestPart = 8, kSmallestWithoutClusters = 2;
constexpr unsigned kByTwos = 8; // processors that are no part of the smallest size for clusters

// Where processors come from: in CUdevResource's padding, which programs leave alone.
struct Origin {
  int device = -1;
  unsigned long long split = 0; // that made it; 0: it is all that a device or green context has
};
Origin origin_of(const CUdevResource& resource) {
  Origin origin;
  std::memcpy(&origin, resource._internal_padding, sizeof origin);
  return origin;
}

CUdevResource make_resource(unsigned processors, Origin origin) {
  CUdevResource resource{};
  if (processors == 0) return resource;
  resource.type = CU_DEV_RESOURCE_TYPE_SM;
  resource.sm.smCount = processors;
  std::memcpy(resource._internal_padding, &origin, sizeof origin);
  return resource;
}

// All that a device or a green context has: it can be parted.
CUdevResource make_whole(unsigned processors, int device) {
  CUdevResource resource = make_resource(processors, {device, 0});
  const bool has_clusters = processors == kGreenProcessors || processors % kSmallestPart == 0;
  resource.sm.minSmPartitionSize = resource.sm.smCoscheduledAlignment =
    has_clusters ? kSmallestPart : kSmallestWithoutClusters;
  return resource;
}

struct Description {
  int device = -1;
  unsigned processors = 0;
};

struct GreenContexts {
  std::vector<std::unique_ptr<GreenContext>> all;
  std::vector<std::unique_ptr<Description>> descriptions;
  unsigned long long splits = 0;
};
GreenContexts& green_contexts() {
  static GreenContexts contexts;
  return contexts;
}

CUgreenCtx handle_of(const GreenContext* green) {
  return green == nullptr ? nullptr : reinterpret_cast<CUgreenCtx>(green->context);
}
GreenContext* find(CUgreenCtx handle) {
  for (const auto& each : green_contexts().all) {
    if (handle_of(each.get()) == handle) return each.get();
  }
  return nullptr;
}
CUresult accept(const GreenContext* green) {
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return green->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}
GreenContext* green_context_of_current() {
  const Context* current = this_thread().current();
  for (const auto& each : green_contexts().all) {
    if (each->alive && each->context == current) return each.get();
  }
  return nullptr;
}

CUresult give_resource(CUdevResource* out, CUdevResourceType type, const CUdevResource& resource) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *out = resource;
  return CUDA_SUCCESS;
}
CUdevResource whole_device(const Device& device) {
  return make_whole(kGreenProcessors, device.ordinal);
}

} // namespace

Context* context_of_code(Context* context) {
  for (const auto& each : green_contexts().all) {
    if (each->context == context) return each->primary;
  }
  return context;
}

GreenContext* green_context_of(CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return green_context_of_current();
  for (const auto& each : green_contexts().all) {
    if (each->alive && std::ranges::find(each->streams, stream) != each->streams.end())
      return each.get();
  }
  return nullptr;
}

void join_green_context(CUstream stream) {
  if (GreenContext* green = green_context_of_current()) green->streams.push_back(stream);
}

void leave_green_context(CUstream stream) {
  for (const auto& each : green_contexts().all) std::erase(each->streams, stream);
}

CUresult device_get_dev_resource(CUdevice ordinal, CUdevResource* out, CUdevResourceType type) {
  const Device* device = state().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return give_resource(out, type, whole_device(*device));
}

CUresult ctx_get_dev_resource(CUcontext handle, CUdevResource* out, CUdevResourceType type) {
  const Context* context = state().context(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  for (const auto& each : green_contexts().all) {
    if (each->context == context) return give_resource(out, type, each->resource);
  }
  return give_resource(out, type, whole_device(*context->device));
}

CUresult green_ctx_get_dev_resource(CUgreenCtx handle, CUdevResource* out, CUdevResourceType type) {
  const GreenContext* green = find(handle);
  if (CUresult bad = accept(green); bad != CUDA_SUCCESS) return bad;
  return give_resource(out, type, green->resource);
}

// Parts of the same size; what is left over is no part.
CUresult dev_sm_resource_split_by_count(CUdevResource* result, unsigned* groups,
                                        const CUdevResource* input, CUdevResource* remaining,
                                        unsigned flags, unsigned least) {
  constexpr unsigned kBoth = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |
                             CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
  if (groups == nullptr || input == nullptr || (flags & kBoth) == kBoth)
    return CUDA_ERROR_INVALID_VALUE;
  if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  if (result != nullptr && *groups == 0) return CUDA_ERROR_INVALID_VALUE;
  Origin origin = origin_of(*input);
  const unsigned all = input->sm.smCount;
  if (least > all || origin.split != 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  const unsigned unit = (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0
                          ? kSmallestWithoutClusters
                          : kSmallestPart;
  const unsigned size = std::min((std::max(least, 1u) + unit - 1) / unit * unit, all);
  const bool leaves_out = all == kGreenProcessors && unit == kSmallestPart && size == unit;
  unsigned count = (all - (leaves_out ? kByTwos : 0)) / size;
  if (result != nullptr) count = std::min(count, *groups);
  *groups = count;
  if (result == nullptr) return CUDA_SUCCESS;
  origin.split = ++green_contexts().splits;
  std::fill_n(result, count, make_resource(size, origin));
  if (remaining != nullptr) *remaining = make_resource(all - count * size, origin);
  return CUDA_SUCCESS;
}

CUresult dev_resource_generate_desc(CUdevResourceDesc* out, CUdevResource* resources,
                                    unsigned count) {
  if (out == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  auto description = std::make_unique<Description>();
  const Origin first = origin_of(resources[0]);
  for (unsigned i = 0; i < count; ++i) {
    if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (origin_of(resources[i]).device != first.device)
      return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    description->processors += resources[i].sm.smCount;
  }
  description->processors = std::min(description->processors, kGreenProcessors);
  description->device = first.device;
  *out = reinterpret_cast<CUdevResourceDesc>(description.get());
  green_contexts().descriptions.push_back(std::move(description));
  return CUDA_SUCCESS;
}

CUresult green_ctx_create(CUgreenCtx* out, CUdevResourceDesc handle, CUdevice ordinal,
                          unsigned flags) {
  const auto& descriptions = green_contexts().descriptions;
  const auto description = std::ranges::find_if(descriptions, [&](const auto& each) {
    return each.get() == reinterpret_cast<const Description*>(handle);
  });
  const Device* device = state().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (out == nullptr || description == descriptions.end() || flags != CU_GREEN_CTX_DEFAULT_STREAM ||
      (*description)->device != ordinal)
    return CUDA_ERROR_INVALID_VALUE;
  CUcontext primary = nullptr;
  if (CUresult bad = device_primary_ctx_retain(&primary, ordinal); bad != CUDA_SUCCESS) return bad;
  auto green = std::make_unique<GreenContext>();
  green->primary = state().context(primary);
  green->resource = make_whole((*description)->processors, ordinal);
  auto context = std::make_unique<Context>(); // lives as long as others do
  context->device = green->primary->device;
  context->alive = true;
  context->flags = green->primary->flags;
  context->api_version = green->primary->api_version;
  context->id = state().new_id();
  green->context = context.get();
  state().contexts.push_back(std::move(context));
  *out = handle_of(green.get());
  green_contexts().all.push_back(std::move(green));
  return CUDA_SUCCESS;
}

// What was allocated while it was current stays.
CUresult green_ctx_destroy(CUgreenCtx handle) {
  GreenContext* green = find(handle);
  if (CUresult bad = accept(green); bad != CUDA_SUCCESS) return bad;
  while (!green->streams.empty()) {
    const CUstream stream = green->streams.back();
    if (stream_destroy(stream) != CUDA_SUCCESS) leave_green_context(stream);
  }
  state().blocks.for_each([&](Block& block) {
    if (block.context == green->context) block.context = green->primary;
  });
  state().events.for_each([&](Event& event) {
    if (event.context == green->context) event.context = green->primary;
  });
  end_context(green->context);
  green->alive = false;
  return device_primary_ctx_release(green->primary->device->ordinal);
}

CUresult ctx_from_green_ctx(CUcontext* out, CUgreenCtx handle) {
  const GreenContext* green = find(handle);
  if (CUresult bad = accept(green); bad != CUDA_SUCCESS) return bad;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUcontext>(green->context);
  return CUDA_SUCCESS;
}

CUresult green_ctx_get_id(CUgreenCtx handle, unsigned long long* id) {
  const GreenContext* green = find(handle);
  if (CUresult bad = accept(green); bad != CUDA_SUCCESS) return bad;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = green->context->id;
  return CUDA_SUCCESS;
}

// The stream is one of the primary context, whose memory and kernels it uses.
CUresult green_ctx_stream_create(CUstream* out, CUgreenCtx handle, unsigned flags, int priority) {
  GreenContext* green = find(handle);
  if (CUresult bad = accept(green); bad != CUDA_SUCCESS) return bad;
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = stream_create_with_priority(out, flags, priority); bad != CUDA_SUCCESS)
    return bad;
  state().streams.get(*out)->context = green->primary;
  leave_green_context(*out); // the current one
  green->streams.push_back(*out);
  return CUDA_SUCCESS;
}

CUresult stream_get_green_ctx(CUstream stream, CUgreenCtx* out) {
  if (find_stream(stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = handle_of(green_context_of(stream));
  return CUDA_SUCCESS;
}

// The event is behind the work of all its streams.
CUresult green_ctx_record_event(CUgreenCtx handle, CUevent event) {
  const GreenContext* green = find(handle);
  if (CUresult bad = accept(green); bad != CUDA_SUCCESS) return bad;
  if (state().events.get(event) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CUstream last = nullptr;
  for (const CUstream handle_of_stream : green->streams) {
    Stream* stream = state().streams.get(handle_of_stream);
    if (stream == nullptr) continue; // of a context that has ended
    if (stream->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    run_late_of(*stream);
    wait_for_host_functions(*stream);
    last = handle_of_stream;
  }
  return event_record(event, last);
}

CUresult green_ctx_wait_event(CUgreenCtx handle, CUevent event) {
  const GreenContext* green = find(handle);
  if (CUresult bad = accept(green); bad != CUDA_SUCCESS) return bad;
  if (state().events.get(event) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (const CUstream stream : green->streams) {
    if (state().streams.get(stream) == nullptr) continue;
    if (CUresult bad = stream_wait_event(stream, event, 0); bad != CUDA_SUCCESS) return bad;
  }
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
