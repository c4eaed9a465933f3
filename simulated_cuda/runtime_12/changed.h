// SPDX-License-Identifier: Apache-2.0
// What functions of the runtime of CUDA 12 take and give where those of CUDA 13 have another form.
// CUDA 13 gave the form of `name_v2` to `name`, and took fields out of cudaDeviceProp. The
// declarations follow cuda_runtime_api.h and driver_types.h of CUDA 12.9.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gmt::sim::runtime_12 {

struct DeviceProperties { // cudaDeviceProp
  char name[256];
  cudaUUID_t uuid;
  char luid[8];
  unsigned int luidDeviceNodeMask;
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  std::size_t totalConstMem;
  int major, minor;
  std::size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory,
    computeMode;
  int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2],
    maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3],
    maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
  int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2],
    maxSurface2DLayered[3], maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
  std::size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver,
    asyncEngineCount, unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize,
    persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported,
    globalL1CacheSupported, localL1CacheSupported;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID,
    hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio, pageableMemoryAccess,
    concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem,
    cooperativeLaunch, cooperativeMultiDeviceLaunch;
  std::size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost,
    maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  std::size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported,
    timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
  unsigned int gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned int memoryPoolSupportedHandleTypes;
  int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
  int reserved[63];
};
static_assert(sizeof(DeviceProperties) == 1032);

cudaError_t get_device_properties(DeviceProperties* properties, int device);
cudaError_t runtime_get_version(int* version);
cudaError_t get_driver_entry_point(const char* name, void** function, unsigned long long flags,
                                   cudaDriverEntryPointQueryResult* status);
cudaError_t mem_advise(const void* address, std::size_t bytes, cudaMemoryAdvise advice, int device);
cudaError_t mem_prefetch(const void* address, std::size_t bytes, int device, cudaStream_t stream);
cudaError_t stream_get_capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                    unsigned long long* id);
cudaError_t stream_get_capture_info_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                       unsigned long long* id, cudaGraph_t* graph,
                                       const cudaGraphNode_t** dependencies, std::size_t* count);
cudaError_t stream_update_capture_dependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                               std::size_t count, unsigned flags);
cudaError_t graph_add_node(cudaGraphNode_t* node, cudaGraph_t graph,
                           const cudaGraphNode_t* dependencies, std::size_t count,
                           cudaGraphNodeParams* parameters);
cudaError_t graph_add_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                   const cudaGraphNode_t* to, std::size_t count);
cudaError_t graph_remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                      const cudaGraphNode_t* to, std::size_t count);
cudaError_t graph_get_edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                            std::size_t* count);
cudaError_t graph_node_get_dependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                        std::size_t* count);
cudaError_t graph_node_get_dependent_nodes(cudaGraphNode_t node, cudaGraphNode_t* dependents,
                                           std::size_t* count);

} // namespace gmt::sim::runtime_12
