// SPDX-License-Identifier: Apache-2.0
// Devices and versions: counts, properties, the current device, reset, peers, driver entry points.
// Called through runtime_api.def.
// Invariant: cudaGetDevice asks the driver first and answers from the thread's own choice when no
// context is current.
#include "simulated_cuda/runtime/api.h"
#include "simulated_cuda/runtime/context.h"

#include <cstring>

namespace gmt::sim {
namespace {

cudaError_t check_device(int device) {
  if (cudaError_t error = load_driver(); error != cudaSuccess) return error;
  int count = 0;
  if (CUresult result = driver().cuDeviceGetCount(&count); result != CUDA_SUCCESS)
    return to_runtime(result);
  return device >= 0 && device < count ? cudaSuccess : cudaErrorInvalidDevice;
}

int attribute(CUdevice_attribute name, int device) {
  int value = 0;
  driver().cuDeviceGetAttribute(&value, name, device);
  return value;
}

void fill_limits(cudaDeviceProp& p, int device) {
  const auto value = [device](CUdevice_attribute name) { return attribute(name, device); };
  const auto bytes = [&](CUdevice_attribute name) { return static_cast<std::size_t>(value(name)); };
  p.sharedMemPerBlock = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  p.sharedMemPerBlockOptin = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  p.sharedMemPerMultiprocessor = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  p.reservedSharedMemPerBlock = bytes(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  p.regsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  p.regsPerMultiprocessor = value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  p.warpSize = value(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  p.memPitch = bytes(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  p.maxThreadsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  p.maxThreadsPerMultiProcessor = value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p.maxBlocksPerMultiProcessor = value(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  for (int i = 0; i < 3; ++i) {
    p.maxThreadsDim[i] =
      value(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i));
    p.maxGridSize[i] =
      value(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i));
  }
  p.totalConstMem = bytes(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  p.textureAlignment = bytes(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  p.texturePitchAlignment = bytes(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
  p.surfaceAlignment = bytes(CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT);
  p.maxTexture1D = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH);
  p.maxTexture2D[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH);
  p.maxTexture2D[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT);
  p.maxTexture2DLinear[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH);
  p.maxTexture2DLinear[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT);
  p.maxTexture2DLinear[2] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH);
  p.maxTexture3D[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH);
  p.maxTexture3D[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT);
  p.maxTexture3D[2] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH);
}

void fill_texture_limits(cudaDeviceProp& p, int device) {
  const auto value = [device](CUdevice_attribute name) { return attribute(name, device); };
  p.maxTexture1DMipmap = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH);
  p.maxTexture2DMipmap[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH);
  p.maxTexture2DMipmap[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT);
  p.maxTexture2DGather[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH);
  p.maxTexture2DGather[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT);
  p.maxTexture3DAlt[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE);
  p.maxTexture3DAlt[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE);
  p.maxTexture3DAlt[2] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE);
  p.maxTextureCubemap = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH);
  p.maxTexture1DLayered[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH);
  p.maxTexture1DLayered[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS);
  p.maxTexture2DLayered[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH);
  p.maxTexture2DLayered[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT);
  p.maxTexture2DLayered[2] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS);
  p.maxTextureCubemapLayered[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH);
  p.maxTextureCubemapLayered[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS);
  p.maxSurface1D = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH);
  p.maxSurface2D[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH);
  p.maxSurface2D[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT);
  p.maxSurface3D[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH);
  p.maxSurface3D[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT);
  p.maxSurface3D[2] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH);
  p.maxSurface1DLayered[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH);
  p.maxSurface1DLayered[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS);
  p.maxSurface2DLayered[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH);
  p.maxSurface2DLayered[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT);
  p.maxSurface2DLayered[2] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS);
  p.maxSurfaceCubemap = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH);
  p.maxSurfaceCubemapLayered[0] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH);
  p.maxSurfaceCubemapLayered[1] = value(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS);
}

void fill_features(cudaDeviceProp& p, int device) {
  const auto value = [device](CUdevice_attribute name) { return attribute(name, device); };
  p.major = value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p.minor = value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p.multiProcessorCount = value(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p.integrated = value(CU_DEVICE_ATTRIBUTE_INTEGRATED);
  p.canMapHostMemory = value(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  p.concurrentKernels = value(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  p.ECCEnabled = value(CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  p.pciBusID = value(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  p.pciDeviceID = value(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  p.pciDomainID = value(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
  p.asyncEngineCount = value(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  p.unifiedAddressing = value(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  p.memoryBusWidth = value(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  p.l2CacheSize = value(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  p.streamPrioritiesSupported = value(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  p.globalL1CacheSupported = value(CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED);
  p.localL1CacheSupported = value(CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED);
  p.managedMemory = value(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  p.concurrentManagedAccess = value(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  p.computePreemptionSupported = value(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED);
  p.canUseHostPointerForRegisteredMem =
    value(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
  p.cooperativeLaunch = value(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  p.hostRegisterSupported = value(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  p.hostRegisterReadOnlySupported = value(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED);
  p.memoryPoolsSupported = value(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  p.tccDriver = value(CU_DEVICE_ATTRIBUTE_TCC_DRIVER);
  p.persistingL2CacheMaxSize = value(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
  p.accessPolicyMaxWindowSize = value(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
  p.hostNativeAtomicSupported = value(CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
  p.pageableMemoryAccess = value(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
  p.pageableMemoryAccessUsesHostPageTables =
    value(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
  p.directManagedMemAccessFromHost = value(CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST);
  p.sparseCudaArraySupported = value(CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED);
  p.deferredMappingCudaArraySupported =
    value(CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED);
  p.timelineSemaphoreInteropSupported =
    value(CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED);
  p.gpuDirectRDMASupported = value(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
  p.gpuDirectRDMAWritesOrdering = value(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
  p.ipcEventSupported = value(CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED);
  p.clusterLaunch = value(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
  p.unifiedFunctionPointers = value(CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS);
  p.deviceNumaConfig = value(CU_DEVICE_ATTRIBUTE_NUMA_CONFIG);
  p.deviceNumaId = value(CU_DEVICE_ATTRIBUTE_NUMA_ID);
  p.mpsEnabled = value(CU_DEVICE_ATTRIBUTE_MPS_ENABLED);
  p.hostNumaId = value(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID);
  p.multiGpuBoardGroupID = value(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID);
  p.isMultiGpuBoard = value(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD);
  p.memoryPoolSupportedHandleTypes =
    static_cast<unsigned>(value(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES));
}

} // namespace

cudaError_t driver_get_version(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = 0; // documented answer where there is no driver
  return load_driver() == cudaErrorInsufficientDriver
           ? cudaSuccess
           : to_runtime(driver().cuDriverGetVersion(version));
}

cudaError_t runtime_get_version(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t get_driver_entry_point_by_version(const char* name, void** function, unsigned version,
                                              unsigned long long flags,
                                              cudaDriverEntryPointQueryResult* status) {
  if (name == nullptr || function == nullptr || flags > cudaEnablePerThreadDefaultStream)
    return cudaErrorInvalidValue;
  if (cudaError_t error = load_driver(); error != cudaSuccess) return error;
  if (flags == cudaEnableDefault && this_thread().per_thread_default)
    flags = cudaEnablePerThreadDefaultStream;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
  const CUresult result =
    driver_entry_point(name, function, static_cast<int>(version), flags, &found);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  return to_runtime(result);
}

cudaError_t get_driver_entry_point(const char* name, void** function, unsigned long long flags,
                                   cudaDriverEntryPointQueryResult* status) {
  return get_driver_entry_point_by_version(name, function, CUDART_VERSION, flags, status);
}

cudaError_t get_export_table(const void** table, const cudaUUID_t* id) {
  if (cudaError_t error = load_driver(); error != cudaSuccess) return error;
  return to_runtime(driver().cuGetExportTable(table, reinterpret_cast<const CUuuid*>(id)));
}

cudaError_t get_device_count(int* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  *count = 0;
  if (cudaError_t error = load_driver(); error != cudaSuccess) return error;
  return to_runtime(driver().cuDeviceGetCount(count));
}

cudaError_t get_device(int* device) {
  if (device == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = load_driver(); error != cudaSuccess) return error;
  CUdevice current = 0;
  *device =
    driver().cuCtxGetDevice(&current, nullptr) == CUDA_SUCCESS ? current : this_thread().device;
  return cudaSuccess;
}

cudaError_t set_device(int device) {
  if (cudaError_t error = check_device(device); error != cudaSuccess) return error;
  this_thread().device = device;
  this_thread().device_chosen = true;
  CUcontext context = nullptr;
  if (cudaError_t error = primary_context(device, &context); error != cudaSuccess) return error;
  return to_runtime(driver().cuCtxSetCurrent(context));
}

cudaError_t init_device(int device, unsigned device_flags, unsigned flags) {
  if (cudaError_t error = check_device(device); error != cudaSuccess) return error;
  if ((flags & cudaInitDeviceFlagsAreValid) != 0)
    driver().cuDevicePrimaryCtxSetFlags(device, device_flags);
  CUcontext context = nullptr;
  return primary_context(device, &context);
}

cudaError_t set_device_flags(unsigned flags) {
  if ((flags & ~static_cast<unsigned>(cudaDeviceMask)) != 0) return cudaErrorInvalidValue;
  if (cudaError_t error = load_driver(); error != cudaSuccess) return error;
  return to_runtime(driver().cuDevicePrimaryCtxSetFlags(this_thread().device, flags));
}

cudaError_t get_device_flags(unsigned* flags) {
  if (flags == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = load_driver(); error != cudaSuccess) return error;
  int active = 0;
  const CUresult result = driver().cuDevicePrimaryCtxGetState(this_thread().device, flags, &active);
  *flags |= cudaDeviceMapHost;
  return to_runtime(result);
}

cudaError_t set_valid_devices(int* devices, int count) {
  for (int i = 0; i < count; ++i) {
    if (cudaError_t error = check_device(devices[i]); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t choose_device(int* device, const cudaDeviceProp* wanted) {
  if (device == nullptr || wanted == nullptr) return cudaErrorInvalidValue;
  *device = 0;
  return check_device(0);
}

cudaError_t get_device_properties(cudaDeviceProp* p, int device) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = check_device(device); error != cudaSuccess) return error;
  *p = {};
  driver().cuDeviceGetName(p->name, sizeof p->name, device);
  static_assert(sizeof p->uuid == sizeof(CUuuid));
  driver().cuDeviceGetUuid(reinterpret_cast<CUuuid*>(&p->uuid), device);
  driver().cuDeviceTotalMem(&p->totalGlobalMem, device);
  fill_limits(*p, device);
  fill_texture_limits(*p, device);
  fill_features(*p, device);
  return cudaSuccess;
}

cudaError_t device_get_attribute(int* value, cudaDeviceAttr name, int device) {
  if (value == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = check_device(device); error != cudaSuccess) return error;
  return to_runtime(
    driver().cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(name), device));
}

cudaError_t device_get_texture_1d_linear_max_width(std::size_t* width,
                                                   const cudaChannelFormatDesc* desc, int device) {
  if (width == nullptr || desc == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = check_device(device); error != cudaSuccess) return error;
  return to_runtime(
    driver().cuDeviceGetTexture1DLinearMaxWidth(width, CU_AD_FORMAT_UNSIGNED_INT8, 1, device));
}

cudaError_t device_synchronize() {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(driver().cuCtxSynchronize(nullptr));
}

cudaError_t device_reset() {
  if (cudaError_t error = load_driver(); error != cudaSuccess) return error;
  const int device = this_thread().device;
  const CUresult result = driver().cuDevicePrimaryCtxReset(device);
  forget_contexts(device);
  driver().cuCtxSetCurrent(nullptr);
  this_thread().last_error = cudaSuccess;
  return to_runtime(result);
}

cudaError_t device_enable_peer_access(int peer, unsigned flags) {
  if (cudaError_t error = check_device(peer); error != cudaSuccess) return error;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  CUcontext context = nullptr;
  if (cudaError_t error = primary_context(peer, &context); error != cudaSuccess) return error;
  return to_runtime(driver().cuCtxEnablePeerAccess(context, flags));
}

cudaError_t device_disable_peer_access(int peer) {
  if (cudaError_t error = check_device(peer); error != cudaSuccess) return error;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  CUcontext context = nullptr;
  if (cudaError_t error = primary_context(peer, &context); error != cudaSuccess) return error;
  return to_runtime(driver().cuCtxDisablePeerAccess(context));
}

cudaError_t device_flush_gpu_direct_rdma_writes(cudaFlushGPUDirectRDMAWritesTarget,
                                                cudaFlushGPUDirectRDMAWritesScope) {
  return use_context();
}

cudaError_t stream_create(cudaStream_t* stream) {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(driver().cuStreamCreate(stream, 0));
}

cudaError_t event_create(cudaEvent_t* event) {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(driver().cuEventCreate(event, 0));
}

} // namespace gmt::sim
