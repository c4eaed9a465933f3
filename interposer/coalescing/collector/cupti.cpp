// SPDX-License-Identifier: Apache-2.0
// Every call is made as cupti_sass_metrics.h and cupti_profiler_target.h of CUDA 13 describe it.
#include "interposer/coalescing/collector/cupti.h"

#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_profiler_target.h>
#include <cupti_result.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sys/mman.h>

#include "interposer/coalescing/collector/calls.h"
#include "interposer/coalescing/collector/core.h"

namespace gmt::interposer::collector {

namespace {

using trace::AccessTrouble;

struct Source {
  const char* metric;
  unsigned figure;
  bool shared = false; // of shared memory
};
// Executions are counted for each kind of memory, since a metric slows down all instructions that
// it counts and no others. No metric counts threads of local memory.
constexpr Source kSourceOf[kSources] = {
  {"smsp__sass_inst_executed_op_global", 0},
  {"smsp__sass_inst_executed_op_ldgsts", 0},
  {"smsp__sass_inst_executed_op_local", 0},
  {"smsp__sass_thread_inst_executed_op_global_pred_on", 1},
  {"smsp__sass_thread_inst_executed_op_ldgsts_pred_on", 1},
  {"smsp__sass_sectors_mem_global", 2},
  {"smsp__sass_sectors_mem_global_ideal", 3},
  {"smsp__sass_data_bytes_mem_global", 4},
  {"smsp__sass_sectors_mem_local", 8},
  {"smsp__sass_inst_executed_op_shared", 0, true},
  {"smsp__sass_thread_inst_executed_op_shared_pred_on", 1, true},
  {"smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", 5, true},
  {"smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal", 6, true},
  {"smsp__sass_data_bytes_mem_shared", 7, true},
};

// Looked up by name: libcupti is never linked.
struct Functions {
  decltype(&::cuptiSubscribe) subscribe;
  decltype(&::cuptiUnsubscribe) unsubscribe;
  decltype(&::cuptiEnableCallback) enable_callback;
  decltype(&::cuptiProfilerInitialize) initialize;
  decltype(&::cuptiDeviceGetChipName) chip_name;
  decltype(&::cuptiSassMetricsGetProperties) metric;
  decltype(&::cuptiSassMetricsSetConfig) set_config;
  decltype(&::cuptiSassMetricsUnsetConfig) unset_config;
  decltype(&::cuptiSassMetricsEnable) enable;
  decltype(&::cuptiSassMetricsDisable) disable;
  decltype(&::cuptiSassMetricsGetDataProperties) properties;
  decltype(&::cuptiSassMetricsFlushData) flush;
};
constinit Functions cupti{};

bool know_functions(void* library) noexcept {
  return look_up(library, "cuptiSubscribe", cupti.subscribe) &&
         look_up(library, "cuptiUnsubscribe", cupti.unsubscribe) &&
         look_up(library, "cuptiEnableCallback", cupti.enable_callback) &&
         look_up(library, "cuptiProfilerInitialize", cupti.initialize) &&
         look_up(library, "cuptiDeviceGetChipName", cupti.chip_name) &&
         look_up(library, "cuptiSassMetricsGetProperties", cupti.metric) &&
         look_up(library, "cuptiSassMetricsSetConfig", cupti.set_config) &&
         look_up(library, "cuptiSassMetricsUnsetConfig", cupti.unset_config) &&
         look_up(library, "cuptiSassMetricsEnable", cupti.enable) &&
         look_up(library, "cuptiSassMetricsDisable", cupti.disable) &&
         look_up(library, "cuptiSassMetricsGetDataProperties", cupti.properties) &&
         look_up(library, "cuptiSassMetricsFlushData", cupti.flush);
}

// CUPTI's bookkeeping of modules, without which only one function of a module is ever measured,
// begins when a subscriber asks for patched modules and outlives the subscriber (H100, driver 580).
// CUPTI has one subscriber a process, and a tool that subscribes later must be able to: the
// subscription is ended at once.
Answer initialize_with_modules() noexcept {
  CUpti_SubscriberHandle handle = nullptr;
  const auto ignore = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  if (const Answer busy = answer(cupti.subscribe(&handle, ignore, nullptr)); !busy.good())
    return busy;
  Answer result = answer(cupti.enable_callback(1, handle, CUPTI_CB_DOMAIN_RESOURCE,
                                               CUPTI_CBID_RESOURCE_MODULE_PROFILED));
  if (result.good()) {
    auto p =
      parameters<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    result = answer(cupti.initialize(&p));
  }
  cupti.unsubscribe(handle);
  return result;
}

// Room for one record: the header says "size equal to number of instances per metric", which leaves
// open whether metrics share an array; there is room for both.
std::size_t values_of_record(std::size_t instances) noexcept {
  return (instances != 0 ? instances : 1) * kSources;
}

} // namespace

Answer Cupti::begin() noexcept {
  if (other_profiler_is_set()) return {AccessTrouble::kBusy, 0};
  library_ = find_cupti();
  if (library_ == nullptr || !know_functions(library_)) return {AccessTrouble::kNoLibrary, 0};
  core->profiler_was_loaded(reinterpret_cast<const void*>(cupti.initialize));
  return initialize_with_modules();
}

Answer Cupti::find_metrics(int device) noexcept {
  auto chip =
    parameters<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  chip.deviceIndex = static_cast<std::size_t>(device);
  if (const Answer refused = answer(cupti.chip_name(&chip)); !refused.good()) return refused;
  Chip& known = chips_[device];
  CUptiResult last = CUPTI_ERROR_NOT_SUPPORTED;
  bool any = false;
  for (unsigned i = 0; i < kSources; ++i) {
    auto p = parameters<CUpti_SassMetrics_GetProperties_Params>(
      CUpti_SassMetrics_GetProperties_Params_STRUCT_SIZE);
    p.pChipName = chip.pChipName;
    p.pMetricName = kSourceOf[i].metric;
    const CUptiResult result = cupti.metric(&p);
    known.has[i] = result == CUPTI_SUCCESS;
    known.ids[i] = p.metric.metricId;
    if (!known.has[i]) {
      last = result;
      continue;
    }
    known.known[kSourceOf[i].figure] = true;
    any = any || kSourceOf[i].figure >= kFirstMemoryMetric;
  }
  if (any) return {};
  const Answer refused = answer(last);
  return refused.trouble == AccessTrouble::kError
           ? Answer{AccessTrouble::kNotSupported, refused.result}
           : refused;
}

// Where one part cannot take the place of another, the first is measured on.
Answer Cupti::configure(int device, Part part) noexcept {
  Chip& chip = chips_[device];
  if (!chip.configured) {
    if (const Answer refused = find_metrics(device); !refused.good()) return refused;
    return set_part(device, part);
  }
  if (chip.is_fixed) return {};
  using Unset = CUpti_SassMetricsUnsetConfig_Params;
  auto unset = parameters<Unset>(CUpti_SassMetricsUnsetConfig_Params_STRUCT_SIZE);
  unset.deviceIndex = static_cast<std::uint32_t>(device);
  chip.is_fixed = !answer(cupti.unset_config(&unset)).good();
  if (chip.is_fixed) return {};
  const Part before = chip.part;
  if (set_part(device, part).good()) return {};
  chip.is_fixed = true;
  return set_part(device, before);
}

Answer Cupti::set_part(int device, Part part) noexcept {
  Chip& chip = chips_[device];
  CUpti_SassMetrics_Config configs[kSources] = {};
  std::size_t count = 0;
  for (unsigned i = 0; i < kSources; ++i) {
    if (!chip.has[i] || (part == Part::kGlobal && kSourceOf[i].shared)) continue;
    configs[count].metricId = chip.ids[i];
    configs[count++].outputGranularity = CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU;
  }
  auto p =
    parameters<CUpti_SassMetricsSetConfig_Params>(CUpti_SassMetricsSetConfig_Params_STRUCT_SIZE);
  p.numOfMetricConfig = count;
  p.pConfigs = configs;
  p.deviceIndex = static_cast<std::uint32_t>(device);
  const Answer result = answer(cupti.set_config(&p));
  chip.configured = result.good();
  chip.part = part;
  return result;
}

Answer Cupti::open(std::uint64_t context, int device, Part part, bool costly) noexcept {
  if (device < 0 || device >= kMostDevices) return {AccessTrouble::kNotSupported, 0};
  Chip& chip = chips_[device];
  if (!chip.configured || chip.part != part) {
    if (const Answer refused = configure(device, part); !refused.good()) return refused;
  }
  auto p = parameters<CUpti_SassMetricsEnable_Params>(CUpti_SassMetricsEnable_Params_STRUCT_SIZE);
  p.ctx = reinterpret_cast<CUcontext>(context);
  ++chip.windows;
  patches_at_launch_ = patches_at_launch_ || costly;
  if (!patches_at_launch_) {
    const std::uint64_t began = core->now();
    const Answer all = answer(cupti.enable(&p));
    patches_at_launch_ =
      all.trouble == AccessTrouble::kError || core->now() - began > kMostPatching;
    if (all.trouble != AccessTrouble::kError) return all;
    close(context, device); // half open, it would refuse to be opened
    ++chip.windows;
  }
  p.enableLazyPatching = 1;
  return answer(cupti.enable(&p));
}

bool Cupti::grow_buffer(std::size_t bytes) noexcept {
  if (bytes <= buffer_bytes_) return true;
  if (buffer_ != nullptr) munmap(buffer_, buffer_bytes_);
  bytes += bytes / 2;
  buffer_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer_ == MAP_FAILED) {
    buffer_ = nullptr;
    buffer_bytes_ = 0;
    return false;
  }
  buffer_bytes_ = bytes;
  return true;
}

Figures Cupti::figures_of(const CUpti_SassMetrics_Data& record, std::size_t values,
                          const Chip& chip) noexcept {
  Figures figures{record.cubinCrc, record.functionIndex, record.functionName, record.pcOffset, {}};
  for (std::size_t i = 0; i < values; ++i) {
    const CUpti_SassMetrics_InstanceValue& one = record.pInstanceValues[i];
    for (unsigned source = 0; source < kSources; ++source) {
      if (chip.has[source] && chip.ids[source] == one.metricId)
        figures.values[kSourceOf[source].figure] += one.value;
    }
  }
  return figures;
}

Answer Cupti::read(std::uint64_t context, int device, Visit visit, void* data) noexcept {
  using Size = CUpti_SassMetricsGetDataProperties_Params;
  auto size = parameters<Size>(CUpti_SassMetricsGetDataProperties_Params_STRUCT_SIZE);
  size.ctx = reinterpret_cast<CUcontext>(context);
  if (const Answer refused = answer(cupti.properties(&size)); !refused.good()) return refused;
  const std::size_t records = size.numOfPatchedInstructionRecords;
  const std::size_t values = values_of_record(size.numOfInstances);
  if (records == 0) return {};
  if (!grow_buffer(records * (sizeof(CUpti_SassMetrics_Data) +
                              values * sizeof(CUpti_SassMetrics_InstanceValue)))) {
    return {AccessTrouble::kError, CUPTI_ERROR_OUT_OF_MEMORY};
  }
  auto* record = static_cast<CUpti_SassMetrics_Data*>(buffer_);
  auto* value = reinterpret_cast<CUpti_SassMetrics_InstanceValue*>(record + records);
  std::memset(value, 0xff, records * values * sizeof *value); // no metric has this id
  for (std::size_t i = 0; i < records; ++i) {
    record[i] =
      // As the header says
      parameters<CUpti_SassMetrics_Data>(CUpti_SassMetricsFlushData_Params_STRUCT_SIZE);
    record[i].pInstanceValues = value + i * values;
  }
  auto p =
    parameters<CUpti_SassMetricsFlushData_Params>(CUpti_SassMetricsFlushData_Params_STRUCT_SIZE);
  p.ctx = size.ctx;
  p.numOfPatchedInstructionRecords = records;
  p.numOfInstances = size.numOfInstances;
  p.pMetricsData = record;
  if (const Answer refused = answer(cupti.flush(&p)); !refused.good()) return refused;
  for (const bool again : {false, true}) {
    for (std::size_t i = 0; i < records; ++i) {
      if (record[i].functionName != nullptr)
        visit(data, figures_of(record[i], values, chips_[device]), again);
    }
  }
  // Each record has a copy of the name that is ours to free, as NVIDIA's sass_metrics sample does.
  for (std::size_t i = 0; i < records; ++i) std::free(const_cast<char*>(record[i].functionName));
  return {};
}

Answer Cupti::close(std::uint64_t context, int device) noexcept {
  if (chips_[device].windows != 0) --chips_[device].windows;
  auto p = parameters<CUpti_SassMetricsDisable_Params>(CUpti_SassMetricsDisable_Params_STRUCT_SIZE);
  p.ctx = reinterpret_cast<CUcontext>(context);
  return answer(cupti.disable(&p));
}

} // namespace gmt::interposer::collector
