// SPDX-License-Identifier: Apache-2.0
// The part of CUPTI that measures instructions, over figures from a file: what a profiler of memory
// accesses needs, to be tested without a GPU. Answers mistakes as cupti_sass_metrics.h says. Found
// only where its path is given.
//
// GPUMEMTRACE_SIM_METRICS names the file: lines of a kernel's linked name, an instruction's offset
// and figures of one launch, as in `_Z4copyPf 0x80 smsp__sass_sectors_mem_global=32`; # begins a
// comment.
//
// Invariants: calls to the driver are made as CUPTI makes them, by the driver's exports; a launch
// is counted by the driver's call-back, under the driver's lock, and calls nothing there.
#include "simulated_cuda/common/private_table.h"
#include "simulated_cuda/cupti/profiler.h"

#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_profiler_target.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>

#include <cstdint>
#include <cstring>
#include <dlfcn.h>

namespace gmt::sim {

Profiler& profiler() {
  static auto* const instance = new Profiler;
  return *instance;
}

namespace {

using Guard = std::lock_guard<std::mutex>;

template <class Function>
Function driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return library != nullptr ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

void count_launch(CUcontext context, const char* kernel) {
  Profiler& p = profiler();
  Guard guard(p.mutex);
  count_in_range(context, kernel);
  auto window = p.windows.find(context);
  if (window == p.windows.end() || !window->second.enabled) return;
  if (p.only_function.empty()) p.only_function = kernel;
  if (p.knows_modules || p.only_function == kernel) ++window->second.launches[kernel];
}

bool watch_launches() {
  const auto get_table = driver<CUresult (*)(const void**, const CUuuid*)>("cuGetExportTable");
  CUuuid id;
  std::memcpy(id.bytes, kSimulatedProfilerTable, sizeof id.bytes);
  const void* table = nullptr;
  if (get_table == nullptr || get_table(&table, &id) != CUDA_SUCCESS) return false;
  static_cast<const SimulatedProfilerTable*>(table)->watch_launches(count_launch);
  return true;
}

// Calls a driver function with the context current.
template <class... Args>
bool call_in(CUcontext context, const char* name, Args... args) {
  const auto push = driver<CUresult (*)(CUcontext)>("cuCtxPushCurrent_v2");
  const auto pop = driver<CUresult (*)(CUcontext*)>("cuCtxPopCurrent_v2");
  const auto function = driver<CUresult (*)(Args...)>(name);
  CUcontext popped = nullptr;
  if (push(context) != CUDA_SUCCESS) return false;
  const bool good = function(args...) == CUDA_SUCCESS;
  pop(&popped);
  return good;
}

} // namespace

// As the real one does: whatever runs in the context, opening, reading and closing wait for it.
bool wait_for(CUcontext context) { return call_in(context, "cuCtxSynchronize"); }

namespace {

// Instructions of the kernels that were launched in the window.
std::size_t records_of(const Window& window) {
  std::size_t count = 0;
  for (const auto& [kernel, launches] : window.launches)
    count += profiler().figures.instructions_of(kernel);
  return count;
}

CUptiResult check_window(CUcontext context, Window** window) {
  Profiler& p = profiler();
  if (context == nullptr)
    return CUPTI_ERROR_INVALID_CONTEXT; // the default context: it is not needed here
  const auto found = p.windows.find(context);
  if (found == p.windows.end() || !found->second.enabled) return CUPTI_ERROR_INVALID_OPERATION;
  *window = &found->second;
  return CUPTI_SUCCESS;
}

// The window of a context, when the kernels in it have ended.
CUptiResult window_at_rest(CUcontext context, Window** window) {
  {
    Guard guard(profiler().mutex);
    if (const CUptiResult bad = check_window(context, window); bad != CUPTI_SUCCESS) return bad;
  }
  return wait_for(context) ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
}

} // namespace
} // namespace gmt::sim

using namespace gmt::sim;

EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                  void*) {
  if (subscriber == nullptr || callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&profiler());
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  return subscriber != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

// As the real one was seen to do (driver 580): a tool that asks for patched modules before the
// configuration is set makes it keep book of modules, also when the subscriber has gone; without
// that one function in all is measured.
EXPORT CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Guard guard(profiler().mutex);
  const bool patched_modules =
    domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_MODULE_PROFILED;
  if (patched_modules && profiler().configured.empty()) profiler().knows_modules = enable != 0;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* p) {
  const bool whole = p != nullptr && p->structSize >= CUpti_Profiler_Initialize_Params_STRUCT_SIZE;
  if (!whole) return CUPTI_ERROR_INVALID_PARAMETER;
  if (!watch_launches()) return CUPTI_ERROR_NOT_SUPPORTED;
  Guard guard(profiler().mutex);
  profiler().initialized = true;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  if (p == nullptr || p->structSize < CUpti_Device_GetChipName_Params_STRUCT_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  static const char* const kChips[] = {"simulated-a", "simulated-b"};
  p->pChipName = kChips[p->deviceIndex % 2];
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiSassMetricsGetProperties(CUpti_SassMetrics_GetProperties_Params* p) {
  if (p == nullptr || p->pChipName == nullptr || p->pMetricName == nullptr)
    return CUPTI_ERROR_INVALID_PARAMETER;
  const std::uint64_t id = profiler().figures.metric(p->pMetricName);
  if (id == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  // As on real devices, another chip has other ids.
  p->metric = {std::strcmp(p->pChipName, "simulated-b") == 0 ? ~id : id, p->pMetricName,
               "simulated"};
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiSassMetricsSetConfig(CUpti_SassMetricsSetConfig_Params* p) {
  Profiler& all = profiler();
  Guard guard(all.mutex);
  if (!all.initialized) return CUPTI_ERROR_NOT_INITIALIZED; // the real one crashes
  if (p == nullptr || p->numOfMetricConfig == 0 || p->pConfigs == nullptr)
    return CUPTI_ERROR_INVALID_PARAMETER;
  const auto [device, fresh] = all.configured.try_emplace(p->deviceIndex);
  if (!fresh) return CUPTI_ERROR_INVALID_OPERATION;
  for (std::size_t i = 0; i < p->numOfMetricConfig; ++i) {
    if (p->pConfigs[i].outputGranularity != CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU)
      return CUPTI_ERROR_NOT_SUPPORTED;
    device->second.insert(p->pConfigs[i].metricId);
  }
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiSassMetricsUnsetConfig(CUpti_SassMetricsUnsetConfig_Params* p) {
  if (p == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Profiler& all = profiler();
  Guard guard(all.mutex);
  for (const auto& [context, window] : all.windows) {
    if (window.enabled && window.device == p->deviceIndex) return CUPTI_ERROR_INVALID_OPERATION;
  }
  return all.configured.erase(p->deviceIndex) != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

EXPORT CUptiResult cuptiSassMetricsEnable(CUpti_SassMetricsEnable_Params* p) {
  Profiler& all = profiler();
  CUdevice device = 0;
  const bool valid =
    p != nullptr && p->ctx != nullptr && call_in(p->ctx, "cuCtxGetDevice", &device);
  if (!valid) return CUPTI_ERROR_INVALID_CONTEXT;
  if (!wait_for(p->ctx)) return CUPTI_ERROR_UNKNOWN;
  Guard guard(all.mutex);
  Window& window = all.windows[p->ctx];
  if (window.enabled || all.configured.count(static_cast<std::uint32_t>(device)) == 0)
    return CUPTI_ERROR_INVALID_OPERATION;
  window.enabled = true;
  window.device = static_cast<std::uint32_t>(device);
  window.launches.clear();
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiSassMetricsDisable(CUpti_SassMetricsDisable_Params* p) {
  if (p == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Window* window = nullptr;
  if (const CUptiResult bad = window_at_rest(p->ctx, &window); bad != CUPTI_SUCCESS) return bad;
  Guard guard(profiler().mutex);
  p->numOfDroppedRecords = records_of(*window);
  window->enabled = false;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiSassMetricsGetDataProperties(CUpti_SassMetricsGetDataProperties_Params* p) {
  if (p == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Window* window = nullptr;
  if (const CUptiResult bad = window_at_rest(p->ctx, &window); bad != CUPTI_SUCCESS) return bad;
  Guard guard(profiler().mutex);
  p->numOfPatchedInstructionRecords = records_of(*window);
  p->numOfInstances = 1;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiSassMetricsFlushData(CUpti_SassMetricsFlushData_Params* p) {
  if (p == nullptr || p->pMetricsData == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Window* window = nullptr;
  if (const CUptiResult bad = window_at_rest(p->ctx, &window); bad != CUPTI_SUCCESS) return bad;
  Profiler& all = profiler();
  Guard guard(all.mutex);
  const std::set<std::uint64_t>& metrics = all.configured[window->device];
  std::size_t record = 0;
  for (const auto& [kernel, launches] : window->launches) {
    all.figures.fill(kernel, launches, metrics, p->pMetricsData, p->numOfPatchedInstructionRecords,
                     &record);
  }
  window->launches.clear();
  return CUPTI_SUCCESS;
}
