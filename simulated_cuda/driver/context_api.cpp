// SPDX-License-Identifier: Apache-2.0
// Initialisation and contexts: cuInit, primary contexts, the context stack of each thread, limits.
// Called through driver_api.def with the lock held.
// Invariant: a Context object is never deleted; `alive` says whether it may be used. A reset
// primary context comes back to life under the same handle at the next retain, as on the real
// driver. It is one file because most calls read or change the context stack of their thread.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/execution/choice.h"
#include "simulated_cuda/driver/execution/prints.h"
#include "simulated_cuda/driver/state/lock.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <utility>

namespace gmt::sim {
namespace {

constexpr unsigned kApiVersion = 3020;

CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }

Context* make_context(Device* device, bool primary, unsigned flags) {
  auto context = std::make_unique<Context>();
  context->device = device;
  context->primary = primary;
  context->alive = true;
  context->flags = flags;
  context->api_version = kApiVersion;
  context->id = state().new_id();
  state().contexts.push_back(std::move(context));
  return state().contexts.back().get();
}

// The context a call means: the given one, or the current one for NULL.
Context* context_or_current(CUcontext handle) {
  return handle == nullptr ? this_thread().current() : state().context(handle);
}

CUresult push(Context* context) {
  ThreadState& thread = this_thread();
  if (thread.depth == ThreadState::kMaxContexts) return CUDA_ERROR_OUT_OF_MEMORY;
  thread.contexts[thread.depth++] = context;
  return CUDA_SUCCESS;
}

CUresult create(CUcontext* out, unsigned flags, CUdevice ordinal) {
  Device* device = state().device(ordinal);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  Context* context = make_context(device, false, flags);
  *out = handle_of(context);
  return push(context);
}

// Of an H100, which has ten.
constexpr std::size_t kPersistingUnit = 3276800;

std::size_t default_limit(CUlimit limit) {
  switch (limit) {
  case CU_LIMIT_STACK_SIZE: return 1024;
  case CU_LIMIT_PRINTF_FIFO_SIZE: return 7667712;
  case CU_LIMIT_MALLOC_HEAP_SIZE: return 8388608;
  case CU_LIMIT_MAX_L2_FETCH_GRANULARITY: return 64;
  case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: return 2048;
  case CU_LIMIT_PERSISTING_L2_CACHE_SIZE: return 3 * kPersistingUnit;
  default: return 0;
  }
}

bool limit_is_supported(CUlimit limit) {
  return limit == CU_LIMIT_STACK_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE ||
         limit == CU_LIMIT_MALLOC_HEAP_SIZE || limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY ||
         limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE ||
         limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;
}

void synchronize(Context* context) { wait_for_all_host_functions(context); }

CUresult reset_primary(Device& device) {
  if (device.primary == nullptr || !device.primary->alive) return CUDA_SUCCESS;
  synchronize(device.primary);
  end_context(device.primary);
  return CUDA_SUCCESS;
}

} // namespace

CUresult init(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (DriverLock::in_forked_child()) return CUDA_ERROR_NOT_INITIALIZED;
  State& s = state();
  if (s.settings.device_count == 0) return CUDA_ERROR_NO_DEVICE;
  if (s.initialized) return CUDA_SUCCESS;
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < s.settings.device_count; ++i) {
    devices.push_back(std::make_unique<Device>(i, s.settings, s.nodes.resource()));
    if (CUresult bad = devices.back()->map_memory(); bad != CUDA_SUCCESS)
      return bad; // the next call tries again
  }
  s.devices = std::move(devices);
  s.initialized = true;
  DriverLock::driver_is_initialized();
  return CUDA_SUCCESS;
}

CUresult driver_get_version(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult device_primary_ctx_retain(CUcontext* out, CUdevice ordinal) {
  Device* device = state().device(ordinal);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (device->primary == nullptr)
    device->primary = make_context(device, true, device->primary_flags);
  device->primary->alive = true;
  device->primary->flags = device->primary_flags;
  ++device->primary_references;
  *out = handle_of(device->primary);
  return CUDA_SUCCESS;
}

CUresult device_primary_ctx_release(CUdevice ordinal) {
  Device* device = state().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (device->primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  return --device->primary_references == 0 ? reset_primary(*device) : CUDA_SUCCESS;
}

CUresult device_primary_ctx_reset(CUdevice ordinal) {
  Device* device = state().device(ordinal);
  return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : reset_primary(*device);
}

CUresult device_primary_ctx_set_flags(CUdevice ordinal, unsigned flags) {
  Device* device = state().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
  device->primary_flags = flags;
  return CUDA_SUCCESS;
}

CUresult device_primary_ctx_get_state(CUdevice ordinal, unsigned* flags, int* active) {
  const Device* device = state().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = device->primary_flags;
  *active = device->primary != nullptr && device->primary->alive ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult ctx_create_v2(CUcontext* out, unsigned flags, CUdevice device) {
  return create(out, flags, device);
}
CUresult ctx_create_v3(CUcontext* out, CUexecAffinityParam*, int, unsigned flags, CUdevice device) {
  return create(out, flags, device);
}
CUresult ctx_create_v4(CUcontext* out, CUctxCreateParams*, unsigned flags, CUdevice device) {
  return create(out, flags, device);
}

CUresult ctx_destroy(CUcontext handle) {
  Context* context = state().context(handle);
  if (context == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  synchronize(context);
  end_context(context);
  ThreadState& thread = this_thread();
  if (thread.current() == context) --thread.depth;
  return CUDA_SUCCESS;
}

CUresult ctx_attach(CUcontext* out, unsigned flags) {
  Context* context = this_thread().current();
  if (out == nullptr || flags != 0 || context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = handle_of(context);
  return CUDA_SUCCESS;
}

CUresult ctx_detach(CUcontext handle) { return ctx_destroy(handle); }

CUresult ctx_push_current(CUcontext handle) {
  Context* context = state().context(handle);
  return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : push(context);
}

CUresult ctx_pop_current(CUcontext* out) {
  ThreadState& thread = this_thread();
  if (thread.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
  Context* context = thread.contexts[--thread.depth];
  if (out != nullptr) *out = handle_of(context);
  return CUDA_SUCCESS;
}

CUresult ctx_set_current(CUcontext handle) {
  ThreadState& thread = this_thread();
  if (handle == nullptr) {
    if (thread.depth > 0) --thread.depth;
    return CUDA_SUCCESS;
  }
  Context* context = state().context(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (thread.depth == 0) return push(context);
  thread.contexts[thread.depth - 1] = context;
  return CUDA_SUCCESS;
}

CUresult ctx_get_current(CUcontext* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = handle_of(this_thread().current());
  return CUDA_SUCCESS;
}

CUresult ctx_get_device_of(CUdevice* device, CUcontext handle) {
  const Context* context = context_or_current(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult ctx_get_device(CUdevice* device) { return ctx_get_device_of(device, nullptr); }

CUresult ctx_get_flags(unsigned* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = this_thread().current()->flags;
  return CUDA_SUCCESS;
}

CUresult ctx_set_flags(unsigned flags) {
  this_thread().current()->flags = flags;
  return CUDA_SUCCESS;
}

CUresult ctx_get_id(CUcontext handle, unsigned long long* id) {
  const Context* context = context_or_current(handle);
  if (context == nullptr || !context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = context->id;
  return CUDA_SUCCESS;
}

CUresult ctx_get_api_version(CUcontext handle, unsigned* version) {
  const Context* context = context_or_current(handle);
  if (context == nullptr || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = context->api_version;
  return CUDA_SUCCESS;
}

CUresult ctx_synchronize_of(CUcontext handle) {
  Context* context = context_or_current(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (CUresult refused = refuse_while_capturing(); refused != CUDA_SUCCESS) return refused;
  synchronize(context);
  flush_prints();
  return context->sticky;
}

CUresult ctx_synchronize() { return ctx_synchronize_of(nullptr); }

CUresult ctx_set_limit(CUlimit limit, std::size_t value) {
  if (!limit_is_supported(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  Context* context = this_thread().current();
  // The device heap is laid out when the first kernel that uses it is loaded: from then on its size
  // is fixed.
  if (limit == CU_LIMIT_MALLOC_HEAP_SIZE && context->heap_in_use) return CUDA_ERROR_INVALID_VALUE;
  constexpr std::size_t kMostGranularity = 128, kMostPending = 599186; // as an H100 has it
  if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > kMostGranularity)
    return CUDA_ERROR_INVALID_VALUE;
  if (limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT) value = std::min(value, kMostPending);
  if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE) {
    value = (value + kPersistingUnit - 1) / kPersistingUnit * kPersistingUnit;
    value = std::min(value, 10 * kPersistingUnit);
  }
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}

CUresult limit_of(const Context& context, CUlimit limit, std::size_t* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!limit_is_supported(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const auto it = context.limits.find(limit);
  *value = it == context.limits.end() ? default_limit(limit) : it->second;
  return CUDA_SUCCESS;
}

CUresult ctx_get_limit(std::size_t* value, CUlimit limit) {
  return limit_of(*this_thread().current(), limit, value);
}

CUresult ctx_get_cache_config(CUfunc_cache* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *config = this_thread().current()->cache_config;
  return CUDA_SUCCESS;
}

CUresult ctx_set_cache_config(CUfunc_cache config) {
  this_thread().current()->cache_config = config;
  return CUDA_SUCCESS;
}

CUresult ctx_get_shared_mem_config(CUsharedconfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *config = this_thread().current()->shared_config;
  return CUDA_SUCCESS;
}

CUresult ctx_set_shared_mem_config(CUsharedconfig config) {
  this_thread().current()->shared_config = config;
  return CUDA_SUCCESS;
}

CUresult ctx_get_stream_priority_range(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult ctx_reset_persisting_l2_cache() { return CUDA_SUCCESS; }

CUresult ctx_enable_peer_access(CUcontext peer_handle, unsigned flags) {
  Context* peer = state().context(peer_handle);
  Context* own = this_thread().current();
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (peer->device == own->device) return CUDA_ERROR_INVALID_DEVICE;
  if (state().settings.peer_access == 0) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if (own->peers[peer]) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  own->peers[peer] = true;
  return CUDA_SUCCESS;
}

CUresult ctx_disable_peer_access(CUcontext peer) {
  const auto erased = this_thread().current()->peers.erase(state().context(peer));
  return erased == 0 ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_SUCCESS;
}

CUresult flush_gpu_direct_rdma_writes(CUflushGPUDirectRDMAWritesTarget,
                                      CUflushGPUDirectRDMAWritesScope) {
  return CUDA_SUCCESS;
}

CUresult profiler_initialize(const char*, const char*, CUoutput_mode) { return CUDA_SUCCESS; }
CUresult profiler_start() {
  note_profiler(true);
  return CUDA_SUCCESS;
}
CUresult profiler_stop() {
  note_profiler(false);
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
