// SPDX-License-Identifier: Apache-2.0
// What arrays, kernels and limits may be set to, and what is known of managed memory.
#include "driver_answers.h"

namespace {

constexpr std::size_t kManagedBytes = 16384;

__global__ void shares(int* out) {
  extern __shared__ int words[];
  *out = words[0];
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
  {"limits", "0 2048 0 4096 1 3276800", limits_set},
  {"advice about managed memory", "1 0 -1", advice_known},
};

} // namespace

const std::vector<Row>& fact_rows() { return rows; }
