// SPDX-License-Identifier: Apache-2.0
// Each function by what the runtime of CUDA 13 does.
#include "simulated_cuda/runtime_12/changed.h"

#include "simulated_cuda/runtime/api.h"

#include <cstring>

namespace gmt::sim::runtime_12 {
namespace {

constexpr int kVersion = 12090; // the last of CUDA 12

// Where a device of old calls is: its number, or the host.
CUmemLocation location_of(int device) {
  if (device == cudaCpuDeviceId) return {.type = CU_MEM_LOCATION_TYPE_HOST, .id = 0};
  return {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
}

template <class T>
void copy(T& to, const T& from) {
  std::memcpy(&to, &from, sizeof to);
}

int attribute(CUdevice_attribute name, int device) {
  int value = 0;
  driver().cuDeviceGetAttribute(&value, name, device);
  return value;
}

// What CUDA 13 took out.
void fill_removed(DeviceProperties& p, int device) {
  p.clockRate = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device);
  p.memoryClockRate = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device);
  p.deviceOverlap = attribute(CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, device);
  p.kernelExecTimeoutEnabled = attribute(CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, device);
  p.computeMode = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device);
  p.maxTexture1DLinear = attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, device);
  p.singleToDoublePrecisionPerfRatio =
    attribute(CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, device);
  p.cooperativeMultiDeviceLaunch =
    attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, device);
}

} // namespace

cudaError_t get_device_properties(DeviceProperties* properties, int device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  cudaDeviceProp now;
  if (const cudaError_t error = gmt::sim::get_device_properties(&now, device); error != cudaSuccess)
    return error;
  DeviceProperties& p = *properties;
  p = {};
#define GMT_SAME(name) copy(p.name, now.name);
#include "simulated_cuda/runtime_12/same_properties.def"
#undef GMT_SAME
  fill_removed(p, device);
  return cudaSuccess;
}

cudaError_t runtime_get_version(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t get_driver_entry_point(const char* name, void** function, unsigned long long flags,
                                   cudaDriverEntryPointQueryResult* status) {
  return get_driver_entry_point_by_version(name, function, kVersion, flags, status);
}

cudaError_t mem_advise(const void* address, std::size_t bytes, cudaMemoryAdvise advice,
                       int device) {
  if (const cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(driver().cuMemAdvise(address_of(address), bytes,
                                         static_cast<CUmem_advise>(advice), location_of(device)));
}

cudaError_t mem_prefetch(const void* address, std::size_t bytes, int device, cudaStream_t stream) {
  if (const cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(
    driver().cuMemPrefetchAsync(address_of(address), bytes, location_of(device), 0, stream));
}

cudaError_t stream_get_capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                    unsigned long long* id) {
  return stream_get_capture_info_v2(stream, status, id, nullptr, nullptr, nullptr);
}

cudaError_t stream_get_capture_info_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                       unsigned long long* id, cudaGraph_t* graph,
                                       const cudaGraphNode_t** dependencies, std::size_t* count) {
  if (const cudaError_t error = use_context(); error != cudaSuccess) return error;
  cuuint64_t number = 0;
  const CUresult result =
    driver().cuStreamGetCaptureInfo(stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                                    &number, graph, dependencies, nullptr, count);
  if (id != nullptr) *id = number;
  return to_runtime(result);
}

cudaError_t stream_update_capture_dependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                               std::size_t count, unsigned flags) {
  if (const cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(
    driver().cuStreamUpdateCaptureDependencies(stream, dependencies, nullptr, count, flags));
}

cudaError_t graph_add_node(cudaGraphNode_t* node, cudaGraph_t graph,
                           const cudaGraphNode_t* dependencies, std::size_t count,
                           cudaGraphNodeParams* parameters) {
  return gmt::sim::graph_add_node(node, graph, dependencies, nullptr, count, parameters);
}

cudaError_t graph_add_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                   const cudaGraphNode_t* to, std::size_t count) {
  if (const cudaError_t error = load_driver(); error != cudaSuccess) return error;
  return to_runtime(driver().cuGraphAddDependencies(graph, from, to, nullptr, count));
}

cudaError_t graph_remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                      const cudaGraphNode_t* to, std::size_t count) {
  if (const cudaError_t error = load_driver(); error != cudaSuccess) return error;
  return to_runtime(driver().cuGraphRemoveDependencies(graph, from, to, nullptr, count));
}

cudaError_t graph_get_edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                            std::size_t* count) {
  if (const cudaError_t error = load_driver(); error != cudaSuccess) return error;
  return to_runtime(driver().cuGraphGetEdges(graph, from, to, nullptr, count));
}

cudaError_t graph_node_get_dependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                        std::size_t* count) {
  if (const cudaError_t error = load_driver(); error != cudaSuccess) return error;
  return to_runtime(driver().cuGraphNodeGetDependencies(node, dependencies, nullptr, count));
}

cudaError_t graph_node_get_dependent_nodes(cudaGraphNode_t node, cudaGraphNode_t* dependents,
                                           std::size_t* count) {
  if (const cudaError_t error = load_driver(); error != cudaSuccess) return error;
  return to_runtime(driver().cuGraphNodeGetDependentNodes(node, dependents, nullptr, count));
}

} // namespace gmt::sim::runtime_12
