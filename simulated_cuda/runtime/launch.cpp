// SPDX-License-Identifier: Apache-2.0
// Kernel launches and questions about kernels. Called through runtime_api.def; <<<...>>> compiles
// to push and pop of a configuration, __cudaGetKernel and __cudaLaunchKernel. Invariant: answers
// are the driver's. An impossible shape is 1, as measured on an H200 (not InvalidConfiguration, 9).
#include "simulated_cuda/runtime/api.h"
#include "simulated_cuda/runtime/registration.h"

#include <vector>

namespace gmt::sim {
namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};

// Nested configurations exist: an argument of a launch may itself launch.
std::vector<Configuration>& configurations() {
  static thread_local std::vector<Configuration> stack;
  return stack;
}

cudaError_t launch(CUkernel kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                   cudaStream_t stream) {
  const CUresult result = driver().cuLaunchKernel(
    reinterpret_cast<CUfunction>(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
    static_cast<unsigned>(shared), stream, arguments, nullptr);
  return to_runtime(result);
}

// Finds the kernel behind a stub and hands it to `use`, with a context current.
template <class Use>
cudaError_t with_kernel(const void* stub, Use use) {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  CUkernel kernel = nullptr;
  if (cudaError_t error = kernel_of(stub, &kernel); error != cudaSuccess) return error;
  return use(kernel);
}

int kernel_attribute(CUkernel kernel, CUfunction_attribute name) {
  int value = 0;
  driver().cuKernelGetAttribute(&value, name, kernel, this_thread().device);
  return value;
}

CUfunction function_of(CUkernel kernel) {
  CUfunction function = nullptr;
  driver().cuKernelGetFunction(&function, kernel);
  return function;
}

CUlaunchConfig as_driver(const cudaLaunchConfig_t& config) {
  CUlaunchConfig c{};
  c.gridDimX = config.gridDim.x;
  c.gridDimY = config.gridDim.y;
  c.gridDimZ = config.gridDim.z;
  c.blockDimX = config.blockDim.x;
  c.blockDimY = config.blockDim.y;
  c.blockDimZ = config.blockDim.z;
  c.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
  c.hStream = config.stream;
  c.attrs = reinterpret_cast<CUlaunchAttribute*>(config.attrs);
  c.numAttrs = config.numAttrs;
  return c;
}

} // namespace

unsigned push_call_configuration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* stream) {
  configurations().push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t pop_call_configuration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (configurations().empty()) return cudaErrorMissingConfiguration;
  const Configuration top = configurations().back();
  configurations().pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t get_kernel_of_stub(cudaKernel_t* out, const void* stub) {
  return with_kernel(stub, [&](CUkernel kernel) {
    *out = kernel;
    return cudaSuccess;
  });
}

cudaError_t get_kernel(cudaKernel_t* out, const void* stub) {
  return out == nullptr ? cudaErrorInvalidValue : get_kernel_of_stub(out, stub);
}

cudaError_t launch_kernel_handle(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                 std::size_t shared, cudaStream_t stream) {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  return launch(kernel, grid, block, arguments, shared, stream);
}

cudaError_t launch_kernel(const void* stub, dim3 grid, dim3 block, void** arguments,
                          std::size_t shared, cudaStream_t stream) {
  return with_kernel(
    stub, [&](CUkernel kernel) { return launch(kernel, grid, block, arguments, shared, stream); });
}

cudaError_t launch_kernel_ex(const cudaLaunchConfig_t* config, const void* stub, void** arguments) {
  if (config == nullptr) return cudaErrorInvalidValue;
  return with_kernel(stub, [&](CUkernel kernel) {
    const CUlaunchConfig c = as_driver(*config);
    const CUresult result =
      driver().cuLaunchKernelEx(&c, reinterpret_cast<CUfunction>(kernel), arguments, nullptr);
    return to_runtime(result);
  });
}

cudaError_t launch_cooperative_kernel(const void* stub, dim3 grid, dim3 block, void** arguments,
                                      std::size_t shared, cudaStream_t stream) {
  return with_kernel(stub, [&](CUkernel kernel) {
    const CUresult result = driver().cuLaunchCooperativeKernel(
      reinterpret_cast<CUfunction>(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
      static_cast<unsigned>(shared), stream, arguments);
    return to_runtime(result);
  });
}

cudaError_t get_func_by_symbol(cudaFunction_t* out, const void* stub) {
  if (out == nullptr) return cudaErrorInvalidValue;
  return with_kernel(stub, [&](CUkernel kernel) {
    *out = function_of(kernel);
    return cudaSuccess;
  });
}

cudaError_t func_get_attributes(cudaFuncAttributes* out, const void* stub) {
  if (out == nullptr) return cudaErrorInvalidValue;
  return with_kernel(stub, [&](CUkernel kernel) {
    *out = {};
    out->maxThreadsPerBlock = kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    out->sharedSizeBytes =
      static_cast<std::size_t>(kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
    out->constSizeBytes =
      static_cast<std::size_t>(kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
    out->localSizeBytes =
      static_cast<std::size_t>(kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
    out->numRegs = kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS);
    out->ptxVersion = kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_PTX_VERSION);
    out->binaryVersion = kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    out->maxDynamicSharedSizeBytes =
      kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    out->preferredShmemCarveout =
      kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    out->clusterDimMustBeSet = kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
    out->requiredClusterWidth = kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
    out->requiredClusterHeight =
      kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
    out->requiredClusterDepth = kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
    out->clusterSchedulingPolicyPreference =
      kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    out->nonPortableClusterSizeAllowed =
      kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    return cudaSuccess;
  });
}

cudaError_t func_set_attribute(const void* stub, cudaFuncAttribute name, int value) {
  return with_kernel(stub, [&](CUkernel kernel) {
    const auto attribute = static_cast<CUfunction_attribute>(name);
    return to_runtime(
      driver().cuKernelSetAttribute(attribute, value, kernel, this_thread().device));
  });
}

cudaError_t func_get_name(const char** name, const void* stub) {
  return with_kernel(
    stub, [&](CUkernel kernel) { return to_runtime(driver().cuKernelGetName(name, kernel)); });
}

cudaError_t func_get_param_info(const void* stub, std::size_t index, std::size_t* offset,
                                std::size_t* size) {
  return with_kernel(stub, [&](CUkernel kernel) {
    return to_runtime(driver().cuKernelGetParamInfo(kernel, index, offset, size));
  });
}

cudaError_t func_set_cache_config(const void* stub, cudaFuncCache config) {
  return with_kernel(stub, [&](CUkernel kernel) {
    return to_runtime(driver().cuKernelSetCacheConfig(kernel, static_cast<CUfunc_cache>(config),
                                                      this_thread().device));
  });
}

cudaError_t func_set_shared_mem_config(const void* stub, cudaSharedMemConfig) {
  return with_kernel(stub, [](CUkernel) { return cudaSuccess; });
}

cudaError_t occupancy_max_active_blocks_with_flags(int* blocks, const void* stub, int size,
                                                   std::size_t bytes, unsigned flags) {
  return with_kernel(stub, [&](CUkernel kernel) {
    return to_runtime(driver().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, function_of(kernel), size, bytes, flags));
  });
}

cudaError_t occupancy_max_active_blocks(int* blocks, const void* stub, int size,
                                        std::size_t bytes) {
  return occupancy_max_active_blocks_with_flags(blocks, stub, size, bytes, 0);
}

cudaError_t occupancy_available_dynamic_smem(std::size_t* bytes, const void* stub, int blocks,
                                             int size) {
  return with_kernel(stub, [&](CUkernel kernel) {
    return to_runtime(
      driver().cuOccupancyAvailableDynamicSMemPerBlock(bytes, function_of(kernel), blocks, size));
  });
}

cudaError_t occupancy_max_active_clusters(int* clusters, const void* stub,
                                          const cudaLaunchConfig_t* config) {
  if (config == nullptr) return cudaErrorInvalidValue;
  return with_kernel(stub, [&](CUkernel kernel) {
    const CUlaunchConfig c = as_driver(*config);
    return to_runtime(driver().cuOccupancyMaxActiveClusters(clusters, function_of(kernel), &c));
  });
}

cudaError_t occupancy_max_potential_cluster_size(int* size, const void* stub,
                                                 const cudaLaunchConfig_t* config) {
  if (config == nullptr) return cudaErrorInvalidValue;
  return with_kernel(stub, [&](CUkernel kernel) {
    const CUlaunchConfig c = as_driver(*config);
    return to_runtime(driver().cuOccupancyMaxPotentialClusterSize(size, function_of(kernel), &c));
  });
}

} // namespace gmt::sim
