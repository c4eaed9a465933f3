// SPDX-License-Identifier: Apache-2.0
// Every call is made as cupti_range_profiler.h and cupti_profiler_host.h of CUDA 13 describe it.
#include "interposer/coalescing/collector/counters.h"

#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <iterator>
#include <sys/mman.h>

#include "interposer/coalescing/collector/calls.h"

namespace gmt::interposer::collector {

namespace {

using trace::AccessTrouble;

// Those up to kTime in the order of the figures.
enum Metric : unsigned { kTime = 9, kCyclesActive, kCycles, kPeak, kL2Hits, kMetricCount };
const char* kNames[] = {
  "dram__bytes_read.sum",
  "dram__bytes_write.sum",
  "l1tex__t_sectors.sum",
  "l1tex__t_sectors_lookup_hit.sum",
  "lts__t_sectors.sum",
  "smsp__inst_executed_op_global_ld.sum",
  "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
  "smsp__inst_executed_op_global_st.sum",
  "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
  "gpu__time_duration.sum",
  "sm__cycles_active.max",
  "sm__cycles_elapsed.max",
  "dram__bytes.sum.peak_sustained_elapsed.per_second",
  "lts__t_sectors_lookup_hit.sum",
};
static_assert(std::size(kNames) == kMetricCount);
// The kernel's time, the bytes of that time, the hits in L2
static_assert(kTime + 3 == Counters::kFigures);

struct Functions {
  decltype(&::cuptiDeviceGetChipName) chip_name;
  decltype(&::cuptiProfilerHostInitialize) make_host;
  decltype(&::cuptiProfilerHostConfigAddMetrics) add_metrics;
  decltype(&::cuptiProfilerHostGetConfigImageSize) config_size;
  decltype(&::cuptiProfilerHostGetConfigImage) config;
  decltype(&::cuptiProfilerHostGetNumOfPasses) passes;
  decltype(&::cuptiProfilerHostEvaluateToGpuValues) evaluate;
  decltype(&::cuptiRangeProfilerEnable) enable;
  decltype(&::cuptiRangeProfilerDisable) disable;
  decltype(&::cuptiRangeProfilerGetCounterDataSize) data_size;
  decltype(&::cuptiRangeProfilerCounterDataImageInitialize) begin_data;
  decltype(&::cuptiRangeProfilerSetConfig) set_config;
  decltype(&::cuptiRangeProfilerStart) start;
  decltype(&::cuptiRangeProfilerStop) stop;
  decltype(&::cuptiRangeProfilerPushRange) push;
  decltype(&::cuptiRangeProfilerPopRange) pop;
  decltype(&::cuptiRangeProfilerDecodeData) decode;
};
constinit Functions cupti{};

// Parameters of the functions that take nothing but the profiler.
template <class Parameters>
Parameters of_profiler(std::size_t size, CUpti_RangeProfiler_Object* profiler) noexcept {
  auto p = parameters<Parameters>(size);
  p.pRangeProfilerObject = profiler;
  return p;
}

std::uint8_t* make_memory(std::size_t size) noexcept {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED ? static_cast<std::uint8_t*>(memory) : nullptr;
}

constexpr Answer kNoMemory{AccessTrouble::kError, CUPTI_ERROR_OUT_OF_MEMORY};

// A chip that lacks a counter refuses the names.
Answer refusal_of_names(CUptiResult result) noexcept {
  const Answer refused = answer(result);
  return refused.trouble == AccessTrouble::kError
           ? Answer{AccessTrouble::kNotSupported, refused.result}
           : refused;
}

Answer end_range(CUpti_RangeProfiler_Object* profiler) noexcept {
  using Pop = CUpti_RangeProfiler_PopRange_Params;
  auto pop = of_profiler<Pop>(CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE, profiler);
  const Answer popped = answer(cupti.pop(&pop));
  using Stop = CUpti_RangeProfiler_Stop_Params;
  auto stop = of_profiler<Stop>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE, profiler);
  const Answer stopped = answer(cupti.stop(&stop));
  return popped.good() ? stopped : popped;
}

} // namespace

Answer Counters::know_functions(void* library) noexcept {
  const bool all =
    look_up(library, "cuptiDeviceGetChipName", cupti.chip_name) &&
    look_up(library, "cuptiProfilerHostInitialize", cupti.make_host) &&
    look_up(library, "cuptiProfilerHostConfigAddMetrics", cupti.add_metrics) &&
    look_up(library, "cuptiProfilerHostGetConfigImageSize", cupti.config_size) &&
    look_up(library, "cuptiProfilerHostGetConfigImage", cupti.config) &&
    look_up(library, "cuptiProfilerHostGetNumOfPasses", cupti.passes) &&
    look_up(library, "cuptiProfilerHostEvaluateToGpuValues", cupti.evaluate) &&
    look_up(library, "cuptiRangeProfilerEnable", cupti.enable) &&
    look_up(library, "cuptiRangeProfilerDisable", cupti.disable) &&
    look_up(library, "cuptiRangeProfilerGetCounterDataSize", cupti.data_size) &&
    look_up(library, "cuptiRangeProfilerCounterDataImageInitialize", cupti.begin_data) &&
    look_up(library, "cuptiRangeProfilerSetConfig", cupti.set_config) &&
    look_up(library, "cuptiRangeProfilerStart", cupti.start) &&
    look_up(library, "cuptiRangeProfilerStop", cupti.stop) &&
    look_up(library, "cuptiRangeProfilerPushRange", cupti.push) &&
    look_up(library, "cuptiRangeProfilerPopRange", cupti.pop) &&
    look_up(library, "cuptiRangeProfilerDecodeData", cupti.decode);
  if (!all) return {AccessTrouble::kNoLibrary, 0}; // it came with CUDA 12.6
  knows_functions_ = true;
  return {};
}

Answer Counters::plan(int device) noexcept {
  Plan& plan = plans_[device];
  if (plan.config.bytes != nullptr) return {};
  auto chip =
    parameters<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  chip.deviceIndex = static_cast<std::size_t>(device);
  if (const Answer refused = answer(cupti.chip_name(&chip)); !refused.good()) return refused;
  using Make = CUpti_Profiler_Host_Initialize_Params;
  auto make = parameters<Make>(CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
  make.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  make.pChipName = chip.pChipName;
  if (const Answer refused = answer(cupti.make_host(&make)); !refused.good()) return refused;
  using Add = CUpti_Profiler_Host_ConfigAddMetrics_Params;
  auto add = parameters<Add>(CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
  add.pHostObject = make.pHostObject;
  add.ppMetricNames = kNames;
  add.numMetrics = kMetricCount;
  if (const Answer refused = refusal_of_names(cupti.add_metrics(&add)); !refused.good())
    return refused;
  using Size = CUpti_Profiler_Host_GetConfigImageSize_Params;
  auto size = parameters<Size>(CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
  size.pHostObject = make.pHostObject;
  if (const Answer refused = answer(cupti.config_size(&size)); !refused.good()) return refused;
  std::uint8_t* bytes = make_memory(size.configImageSize);
  if (bytes == nullptr) return kNoMemory;
  using Get = CUpti_Profiler_Host_GetConfigImage_Params;
  auto get = parameters<Get>(CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
  get.pHostObject = make.pHostObject;
  get.configImageSize = size.configImageSize;
  get.pConfigImage = bytes;
  if (const Answer refused = answer(cupti.config(&get)); !refused.good()) return refused;
  using Passes = CUpti_Profiler_Host_GetNumOfPasses_Params;
  auto passes = parameters<Passes>(CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
  passes.configImageSize = size.configImageSize;
  passes.pConfigImage = bytes;
  if (const Answer refused = answer(cupti.passes(&passes)); !refused.good()) return refused;
  if (passes.numOfPasses > kPasses) return {AccessTrouble::kNotSupported, passes.numOfPasses};
  plan = {
    make.pHostObject, {bytes, size.configImageSize}, static_cast<unsigned>(passes.numOfPasses)};
  return {};
}

Answer Counters::configure(const Plan& plan, unsigned pass,
                           CUpti_RangeProfiler_Object* profiler) noexcept {
  using Size = CUpti_RangeProfiler_GetCounterDataSize_Params;
  auto size =
    of_profiler<Size>(CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE, profiler);
  size.pMetricNames = kNames;
  size.numMetrics = kMetricCount;
  size.maxNumOfRanges = size.maxNumRangeTreeNodes = 1;
  if (const Answer refused = answer(cupti.data_size(&size)); !refused.good()) return refused;
  if (data_.size != size.counterDataSize) {
    if (data_.bytes != nullptr) munmap(data_.bytes, data_.size);
    data_ = {make_memory(size.counterDataSize), size.counterDataSize};
    if (data_.bytes == nullptr) {
      data_.size = 0;
      return kNoMemory;
    }
  }
  using Begin = CUpti_RangeProfiler_CounterDataImage_Initialize_Params;
  auto begin = of_profiler<Begin>(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE, profiler);
  begin.counterDataSize = size.counterDataSize;
  begin.pCounterData = data_.bytes;
  if (const Answer refused = answer(cupti.begin_data(&begin)); !refused.good()) return refused;
  using Config = CUpti_RangeProfiler_SetConfig_Params;
  auto config = of_profiler<Config>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE, profiler);
  config.configSize = plan.config.size;
  config.pConfig = plan.config.bytes;
  config.counterDataImageSize = size.counterDataSize;
  config.pCounterDataImage = data_.bytes;
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;
  config.maxRangesPerPass = 1;
  config.passIndex = pass;
  config.numNestingLevels = config.minNestingLevel = config.targetNestingLevel = 1;
  return answer(cupti.set_config(&config));
}

Answer Counters::begin(std::uint64_t context, int device, unsigned& pass,
                       CUpti_RangeProfiler_Object*& profiler) noexcept {
  if (device < 0 || device >= kMostDevices) return {AccessTrouble::kNotSupported, 0};
  if (!knows_functions_) {
    if (const Answer refused = know_functions(cupti_.library()); !refused.good()) return refused;
  }
  if (const Answer refused = plan(device); !refused.good()) return refused;
  if (profiler == nullptr) {
    auto enable =
      parameters<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
    enable.ctx = reinterpret_cast<CUcontext>(context);
    if (const Answer refused = answer(cupti.enable(&enable)); !refused.good()) return refused;
    profiler = enable.pRangeProfilerObject;
  }
  if (pass >= plans_[device].passes) pass = plans_[device].passes - 1;
  if (const Answer refused = configure(plans_[device], pass, profiler); !refused.good())
    return refused;
  using Start = CUpti_RangeProfiler_Start_Params;
  auto start = of_profiler<Start>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE, profiler);
  if (const Answer refused = answer(cupti.start(&start)); !refused.good()) return refused;
  using Push = CUpti_RangeProfiler_PushRange_Params;
  auto push = of_profiler<Push>(CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE, profiler);
  push.pRangeName = "launch";
  return answer(cupti.push(&push));
}

Answer Counters::read(const Plan& plan, CUpti_RangeProfiler_Object* profiler,
                      double* values) noexcept {
  using Decode = CUpti_RangeProfiler_DecodeData_Params;
  auto decode = of_profiler<Decode>(CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE, profiler);
  if (const Answer refused = answer(cupti.decode(&decode)); !refused.good()) return refused;
  using Evaluate = CUpti_Profiler_Host_EvaluateToGpuValues_Params;
  auto evaluate = parameters<Evaluate>(CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
  evaluate.pHostObject = plan.host;
  evaluate.pCounterDataImage = data_.bytes;
  evaluate.counterDataImageSize = data_.size;
  evaluate.ppMetricNames = kNames;
  evaluate.numMetrics = kMetricCount;
  evaluate.pMetricValues = values;
  return answer(cupti.evaluate(&evaluate));
}

Answer Counters::end(int device, CUpti_RangeProfiler_Object* profiler, Figures* figures) noexcept {
  const Answer ended = end_range(profiler);
  if (!ended.good() || figures == nullptr) return ended;
  double values[kMetricCount] = {};
  if (const Answer refused = read(plans_[device], profiler, values); !refused.good())
    return refused;
  const double seconds = values[kTime] * 1e-9 * values[kCyclesActive] / values[kCycles];
  const double beyond[] = {seconds * 1e9, seconds * values[kPeak], values[kL2Hits]};
  for (unsigned i = 0; i < kFigures; ++i) {
    const double value = i < kTime ? values[i] : beyond[i - kTime];
    if (!(value >= 0 && value < 1e19))
      continue; // not a number: of the other pass, or nothing was counted
    figures->sums[i] = static_cast<std::uint64_t>(value);
    figures->counted |= 1u << i;
  }
  return {};
}

void Counters::forget(CUpti_RangeProfiler_Object* profiler) noexcept {
  using Disable = CUpti_RangeProfiler_Disable_Params;
  auto disable = of_profiler<Disable>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE, profiler);
  cupti.disable(&disable);
}

} // namespace gmt::interposer::collector
