// SPDX-License-Identifier: Apache-2.0
// A CUPTI that refuses what REFUSES says. It is linked to the simulated one, so that a look-up
// finds that one's functions here, but for those that are defined below. REFUSES is one of: busy,
// not-permitted, not-supported, error, "error later" (from the second window on), "without METRIC",
// "skips KERNEL" (it measures nothing of that), patches-at-launch (it cannot patch all functions at
// once), only-at-launch (so, and it answers that this is not supported), "counters not-permitted",
// "counters not-supported", "counters passes".
#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_sass_metrics.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

namespace {

const std::string& refused() {
  static const auto* const words = [] {
    const char* text = std::getenv("REFUSES");
    return new std::string(text != nullptr ? text : "");
  }();
  return *words;
}

bool refuses(const char* what) { return refused() == what; }

// The simulated CUPTI's function of a name.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

} // namespace

#define NEXT(name) next<decltype(name)>(#name)

extern "C" {

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                           void* data) {
  if (refuses("busy")) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  return NEXT(cuptiSubscribe)(subscriber, callback, data);
}

CUptiResult cuptiSassMetricsGetProperties(CUpti_SassMetrics_GetProperties_Params* p) {
  if (refuses("not-supported")) return CUPTI_ERROR_NOT_SUPPORTED;
  if (refused() == std::string("without ") + p->pMetricName) return CUPTI_ERROR_INVALID_PARAMETER;
  return NEXT(cuptiSassMetricsGetProperties)(p);
}

CUptiResult cuptiSassMetricsSetConfig(CUpti_SassMetricsSetConfig_Params* p) {
  if (refuses("not-permitted")) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  return NEXT(cuptiSassMetricsSetConfig)(p);
}

CUptiResult cuptiSassMetricsEnable(CUpti_SassMetricsEnable_Params* p) {
  static std::atomic<int> windows{0};
  if (refuses("error") || (refuses("error later") && ++windows >= 2)) return CUPTI_ERROR_UNKNOWN;
  if (p->enableLazyPatching == 0) {
    if (refuses("patches-at-launch")) return CUPTI_ERROR_INVALID_PARAMETER;
    if (refuses("only-at-launch")) return CUPTI_ERROR_NOT_SUPPORTED;
  }
  return NEXT(cuptiSassMetricsEnable)(p);
}

CUptiResult cuptiSassMetricsFlushData(CUpti_SassMetricsFlushData_Params* p) {
  const CUptiResult result = NEXT(cuptiSassMetricsFlushData)(p);
  for (std::size_t i = 0; result == CUPTI_SUCCESS && i < p->numOfPatchedInstructionRecords; ++i) {
    const char*& name = p->pMetricsData[i].functionName;
    if (name == nullptr || refused() != std::string("skips ") + name) continue;
    std::free(const_cast<char*>(name)); // the caller's, who finds no record here
    name = nullptr;
  }
  return result;
}

CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  if (refuses("counters not-supported")) return CUPTI_ERROR_INVALID_METRIC_NAME;
  return NEXT(cuptiProfilerHostConfigAddMetrics)(p);
}

CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  const CUptiResult result = NEXT(cuptiProfilerHostGetNumOfPasses)(p);
  if (refuses("counters passes")) p->numOfPasses = 3;
  return result;
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  if (refuses("counters not-permitted")) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  return NEXT(cuptiRangeProfilerEnable)(p);
}
}
