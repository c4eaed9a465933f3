// SPDX-License-Identifier: Apache-2.0
// What arrays, kernels and limits may be set to, and what is known of managed memory.
#include "driver_answers.h"

namespace {

constexpr std::size_t kManagedBytes = 16384;

__global__ void shares(int* out) {
  extern __shared__ int words[];
  *out = words[0];
}

template <int>
__global__ void shares_alone(int* out) {
  extern __shared__ int words[];
  if (out != nullptr) *out = words[0];
}

// What a texture of the array answers, and destroys again.
int read_as(cudaArray_t array, cudaTextureReadMode mode, int is_srgb = 0) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture{};
  texture.readMode = mode;
  texture.sRGB = is_srgb;
  cudaTextureObject_t object = 0;
  const int answer = cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  if (answer == 0) cudaDestroyTextureObject(object);
  cudaGetLastError();
  return answer;
}

std::string compressed_arrays() {
  const auto blocks = cudaCreateChannelDesc<cudaChannelFormatKindUnsignedBlockCompressed1>(),
             colors = cudaCreateChannelDesc<cudaChannelFormatKindUnsignedBlockCompressed1SRGB>(),
             packed = cudaCreateChannelDesc<cudaChannelFormatKindUnsignedNormalized1010102>();
  cudaArray_t one = nullptr, two = nullptr, three = nullptr;
  const int made = cudaMallocArray(&one, &blocks, 64, 64);
  cudaMallocArray(&two, &colors, 64, 64);
  cudaMallocArray(&three, &packed, 64, 64);
  const std::vector<char> bytes(16 * 8 * 64);
  const auto copy = [&](std::size_t rows) {
    return static_cast<int>(
      cudaMemcpy2DToArray(one, 0, 0, bytes.data(), 128, 128, rows, cudaMemcpyHostToDevice));
  };
  const int of_texels = copy(64), of_blocks = copy(16);
  cudaChannelFormatDesc known{};
  cudaArrayGetInfo(&known, nullptr, nullptr, three);
  const std::string all = answers(
    {made, of_texels, of_blocks, read_as(one, cudaReadModeElementType),
     read_as(one, cudaReadModeNormalizedFloat), read_as(two, cudaReadModeNormalizedFloat),
     read_as(two, cudaReadModeNormalizedFloat, 1), read_as(three, cudaReadModeElementType),
     read_as(three, cudaReadModeNormalizedFloat), known.x, known.w, static_cast<int>(known.f)});
  for (cudaArray_t array : {one, two, three}) cudaFreeArray(array);
  return all;
}

std::string kernel_settings() {
  std::size_t before = 0, after = 0;
  cudaOccupancyAvailableDynamicSMemPerBlock(&before, shares, 2, 256);
  const auto set = [](cudaFuncAttribute name, int value) {
    const int answer = cudaFuncSetAttribute(shares, name, value);
    cudaGetLastError();
    return answer;
  };
  const int carveout = set(cudaFuncAttributePreferredSharedMemoryCarveout, 101),
            large = set(cudaFuncAttributeMaxDynamicSharedMemorySize, 300 * 1024),
            negative = set(cudaFuncAttributeMaxDynamicSharedMemorySize, -1);
  cudaFuncAttributes unset{}, known{};
  cudaFuncGetAttributes(&unset, shares);
  set(cudaFuncAttributePreferredSharedMemoryCarveout, 100);
  set(cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024);
  cudaFuncGetAttributes(&known, shares);
  cudaOccupancyAvailableDynamicSMemPerBlock(&after, shares, 2, 256);
  return answers({static_cast<int>(before), carveout, large, negative, unset.preferredShmemCarveout,
                  known.preferredShmemCarveout, static_cast<int>(after)});
}

// Sets the most dynamic shared memory of a kernel where it was not set before. Of each letter of
// `ways`: F is cuFuncSetAttribute, K cuKernelSetAttribute, R the runtime. What its function and the
// kernel answer then, and a launch with 80,000 bytes.
template <int kNumber>
std::string sizes_behind(const char* ways, std::initializer_list<int> sizes) {
  const auto name = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  const auto stub = reinterpret_cast<const void*>(shares_alone<kNumber>);
  cudaFunction_t function = nullptr;
  cudaKernel_t handle = nullptr;
  cudaGetFuncBySymbol(&function, stub);
  cudaGetKernel(&handle, stub);
  for (const int size : sizes) {
    switch (*ways++) {
    case 'F': DRIVER(cuFuncSetAttribute)(function, name, size); break;
    case 'K': DRIVER(cuKernelSetAttribute)(name, size, handle, 0); break;
    default: cudaFuncSetAttribute(stub, cudaFuncAttributeMaxDynamicSharedMemorySize, size); break;
    }
  }
  int of_function = 0, of_kernel = 0;
  DRIVER(cuFuncGetAttribute)(&of_function, name, function);
  DRIVER(cuKernelGetAttribute)(&of_kernel, name, handle, 0);
  int* out = nullptr;
  void* arguments[] = {&out};
  const int launched = cudaLaunchKernel(stub, 1, 1, arguments, 80000, nullptr);
  return answers({of_function, of_kernel, launched});
}

std::string sizes_by_three_ways() {
  return sizes_behind<0>("FK", {60000, 100000}) + ", " + sizes_behind<1>("KF", {60000, 100000}) +
         ", " + sizes_behind<2>("KF", {100000, 60000}) + ", " +
         sizes_behind<3>("FR", {60000, 100000}) + ", " + sizes_behind<4>("RK", {60000, 100000}) +
         ", " + sizes_behind<5>("KR", {60000, 100000}) + ", " + sizes_behind<6>("F", {60000}) +
         ", " + sizes_behind<7>("FKF", {60000, 70000, 100000});
}

std::string limits_set() {
  std::size_t pending = 0, more = 0, persisting = 0;
  const int first = cudaDeviceGetLimit(&pending, cudaLimitDevRuntimePendingLaunchCount);
  const int set = cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 4096);
  cudaDeviceGetLimit(&more, cudaLimitDevRuntimePendingLaunchCount);
  const int coarse = cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 1 << 20);
  cudaGetLastError();
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);
  cudaDeviceGetLimit(&persisting, cudaLimitPersistingL2CacheSize);
  return answers({first, static_cast<int>(pending), set, static_cast<int>(more), coarse,
                  static_cast<int>(persisting)});
}

std::string advice_known() {
  int* block = nullptr;
  cudaMallocManaged(&block, kManagedBytes);
  const cudaMemLocation device{cudaMemLocationTypeDevice, 0}, host{cudaMemLocationTypeHost, 0};
  cudaMemAdvise(block, kManagedBytes, cudaMemAdviseSetPreferredLocation, device);
  cudaMemAdvise(block, kManagedBytes, cudaMemAdviseSetReadMostly, device);
  cudaMemPrefetchAsync(block, kManagedBytes, host, 0, nullptr);
  cudaDeviceSynchronize();
  const auto ask = [&](cudaMemRangeAttribute what) {
    int value = 77;
    cudaMemRangeGetAttribute(&value, sizeof value, what, block, kManagedBytes);
    return value;
  };
  const int mostly = ask(cudaMemRangeAttributeReadMostly),
            preferred = ask(cudaMemRangeAttributePreferredLocation),
            prefetched = ask(cudaMemRangeAttributeLastPrefetchLocation);
  cudaFree(block);
  return answers({mostly, preferred, prefetched});
}

const std::vector<Row> rows = {
  {"arrays of compressed and packed texels", "0 1 0 27 0 1 0 0 27 10 2 31", compressed_arrays},
  {"what kernels are set to", "49152 1 1 1 -1 100 116736", kernel_settings},
  {"dynamic shared memory set by function, kernel and runtime",
   "60000 100000 1, 100000 60000 0, 60000 100000 1, 60000 100000 1, 100000 100000 0, "
   "100000 100000 0, 60000 60000 1, 100000 70000 0",
   sizes_by_three_ways},
  {"limits", "0 2048 0 4096 1 3276800", limits_set},
  {"advice about managed memory", "1 0 -1", advice_known},
};

} // namespace

const std::vector<Row>& fact_rows() { return rows; }
