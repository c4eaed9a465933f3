// SPDX-License-Identifier: Apache-2.0
// The part of CUPTI that counts what whole kernels do: the Range Profiler and its host side, for
// one range at a time. As on the real one hits in L2 take a pass of their own, and what is not of
// the pass that was taken is not a number. Answers mistakes as cupti_range_profiler.h says; opening
// and closing a range wait for the context, as the real one was seen to (driver 580). A launch's
// counters come from the file of GPUMEMTRACE_SIM_METRICS: lines of a kernel's linked name, the word
// `whole` and figures of one launch, as in `_Z4copyPf whole dram__bytes_read.sum=4096`.
#include "simulated_cuda/cupti/profiler.h"

#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

struct CUpti_Profiler_Host_Object {
  std::vector<std::string> metrics;
};

struct CUpti_RangeProfiler_Object {
  CUcontext context = nullptr;
  bool configured = false, started = false, pushed = false;
  std::size_t pass = 0;
  std::uint8_t* data = nullptr;
  std::vector<std::string> launches; // in the range
};

namespace gmt::sim {
namespace {

// The counter data holds which launches it is of; the host object knows the names of the counters.
struct Data {
  std::uint32_t ranges, launches, pass;
  char names[4000]; // ended by zeros
};

constexpr std::size_t kPasses = 2;

CUpti_RangeProfiler_Object* open_range = nullptr;

std::size_t pass_of(const char* metric) {
  return std::strcmp(metric, "lts__t_sectors_lookup_hit.sum") == 0 ? 1 : 0;
}

template <class Params>
bool is_whole(const Params* p, std::size_t size) {
  return p != nullptr && p->structSize >= size;
}

template <class Params>
CUpti_RangeProfiler_Object* profiler_of(const Params* p) {
  return p != nullptr ? p->pRangeProfilerObject : nullptr;
}

} // namespace

void count_in_range(CUcontext context, const char* kernel) {
  if (open_range != nullptr && open_range->context == context)
    open_range->launches.emplace_back(kernel);
}

} // namespace gmt::sim

using namespace gmt::sim;

EXPORT CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  if (!is_whole(p, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE) || p->pChipName == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  p->pHostObject = new CUpti_Profiler_Host_Object;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  if (p == nullptr || p->pHostObject == nullptr || p->ppMetricNames == nullptr)
    return CUPTI_ERROR_INVALID_PARAMETER;
  for (std::size_t i = 0; i < p->numMetrics; ++i)
    p->pHostObject->metrics.emplace_back(p->ppMetricNames[i]);
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  if (p == nullptr || p->pHostObject == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  p->configImageSize = 64;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* p) {
  const bool fits = p != nullptr && p->pHostObject != nullptr && p->pConfigImage != nullptr &&
                    p->configImageSize >= 64;
  return fits ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

EXPORT CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  if (p == nullptr || p->pConfigImage == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  p->numOfPasses = kPasses;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  if (!is_whole(p, CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE) || p->ctx == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  p->pRangeProfilerObject = new CUpti_RangeProfiler_Object;
  p->pRangeProfilerObject->context = p->ctx;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* p) {
  CUpti_RangeProfiler_Object* range = profiler_of(p);
  if (range == nullptr || range->started) return CUPTI_ERROR_INVALID_PARAMETER;
  delete range;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
  if (profiler_of(p) == nullptr || p->numMetrics == 0 || p->maxNumOfRanges != 1)
    return CUPTI_ERROR_INVALID_PARAMETER;
  p->counterDataSize = sizeof(Data);
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
  CUpti_RangeProfiler_CounterDataImage_Initialize_Params* p) {
  if (profiler_of(p) == nullptr || p->counterDataSize < sizeof(Data))
    return CUPTI_ERROR_INVALID_PARAMETER;
  std::memset(p->pCounterData, 0, sizeof(Data));
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* p) {
  CUpti_RangeProfiler_Object* range = profiler_of(p);
  if (range == nullptr || range->started) return CUPTI_ERROR_INVALID_OPERATION;
  const bool one =
    p->range == CUPTI_UserRange && p->replayMode == CUPTI_UserReplay && p->maxRangesPerPass == 1;
  if (!one || p->pConfig == nullptr || p->counterDataImageSize < sizeof(Data))
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (p->passIndex >= kPasses) return CUPTI_ERROR_INVALID_PARAMETER;
  range->configured = true;
  range->pass = p->passIndex;
  range->data = p->pCounterDataImage;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* p) {
  CUpti_RangeProfiler_Object* range = profiler_of(p);
  if (range == nullptr || !range->configured || range->started)
    return CUPTI_ERROR_INVALID_OPERATION;
  if (!wait_for(range->context)) return CUPTI_ERROR_UNKNOWN;
  range->started = true;
  range->launches.clear();
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* p) {
  CUpti_RangeProfiler_Object* range = profiler_of(p);
  if (range == nullptr || !range->started || range->pushed || p->pRangeName == nullptr)
    return CUPTI_ERROR_INVALID_OPERATION;
  std::lock_guard guard(profiler().mutex);
  range->pushed = true;
  open_range = range;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* p) {
  CUpti_RangeProfiler_Object* range = profiler_of(p);
  if (range == nullptr || !range->pushed) return CUPTI_ERROR_INVALID_OPERATION;
  if (!wait_for(range->context)) return CUPTI_ERROR_UNKNOWN;
  std::lock_guard guard(profiler().mutex);
  range->pushed = false;
  open_range = nullptr;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* p) {
  CUpti_RangeProfiler_Object* range = profiler_of(p);
  if (range == nullptr || !range->started || range->pushed) return CUPTI_ERROR_INVALID_OPERATION;
  range->started = false;
  p->isAllPassSubmitted = range->pass + 1 == kPasses;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* p) {
  CUpti_RangeProfiler_Object* range = profiler_of(p);
  if (range == nullptr || range->started || range->data == nullptr)
    return CUPTI_ERROR_INVALID_OPERATION;
  auto* data = reinterpret_cast<Data*>(range->data);
  data->ranges = 1;
  data->pass = static_cast<std::uint32_t>(range->pass);
  std::size_t at = 0;
  for (const std::string& name : range->launches) {
    if (at + name.size() + 1 > sizeof data->names) break;
    std::memcpy(data->names + at, name.c_str(), name.size() + 1);
    at += name.size() + 1;
    ++data->launches;
  }
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  if (p == nullptr || p->pHostObject == nullptr || p->counterDataImageSize < sizeof(Data) ||
      p->rangeIndex != 0) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const auto* data = reinterpret_cast<const Data*>(p->pCounterDataImage);
  if (data->ranges != 1) return CUPTI_ERROR_INVALID_OPERATION;
  for (std::size_t i = 0; i < p->numMetrics; ++i) {
    double value = 0;
    if (pass_of(p->ppMetricNames[i]) != data->pass)
      value = std::numeric_limits<double>::quiet_NaN();
    const char* name = data->names;
    for (std::uint32_t launch = 0; launch < data->launches;
         ++launch, name += std::strlen(name) + 1) {
      value += static_cast<double>(profiler().figures.counter(name, p->ppMetricNames[i]));
    }
    p->pMetricValues[i] = value;
  }
  return CUPTI_SUCCESS;
}
