// SPDX-License-Identifier: Apache-2.0
// Unit tests of the simulated device's arrays and textures: planes, sparse arrays, and descriptions
// that no GPU takes.
#include "cuda_support.h"

namespace {

TEST(Arrays, PlanesAreViews) {
  cudaArray_t array = nullptr, plane = nullptr;
  const cudaChannelFormatDesc nv12{8, 8, 8, 0, cudaChannelFormatKindNV12};
  ASSERT_EQ(cudaMallocArray(&array, &nv12, 64, 32), cudaSuccess);
  ASSERT_EQ(cudaArrayGetPlane(&plane, array, 1), cudaSuccess);
  const char pixels[16 * 64] = {};
  EXPECT_EQ(cudaMemcpy2DToArray(plane, 0, 0, pixels, 64, 64, 16, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(cudaArrayGetPlane(&plane, array, 2), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
  cudaGetLastError();
}

// Texels that share bytes of several planes.
TEST(Arrays, FormatsThatAreNotSimulatedAreRefused) {
  cudaFree(nullptr);
  const auto create = DRIVER_FUNCTION(cuArrayCreate);
  for (const CUarray_format format : {CU_AD_FORMAT_P010, CU_AD_FORMAT_NV16, CU_AD_FORMAT_YUY2}) {
    const CUDA_ARRAY_DESCRIPTOR desc{64, 32, format, 1};
    CUarray array = nullptr;
    EXPECT_EQ(create(&array, &desc), CUDA_ERROR_NOT_SUPPORTED) << format;
  }
}

TEST(Arrays, ASparseArrayHasNoMemory) {
  size_t before = 0, after = 0, total = 0;
  cudaMemGetInfo(&before, &total);
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc desc{32, 0, 0, 0, cudaChannelFormatKindFloat};
  ASSERT_EQ(cudaMalloc3DArray(&array, &desc, {4096, 4096, 0}, cudaArraySparse), cudaSuccess);
  cudaMemGetInfo(&after, &total);
  EXPECT_EQ(before, after);
  cudaArraySparseProperties properties{};
  ASSERT_EQ(cudaArrayGetSparseProperties(&properties, array), cudaSuccess);
  EXPECT_EQ(properties.tileExtent.width * properties.tileExtent.height * 4, 64u * 1024);
  cudaResourceDesc resource{};
  resource.res.array.array = array;
  cudaSurfaceObject_t surface = 0;
  EXPECT_NE(cudaCreateSurfaceObject(&surface, &resource), cudaSuccess) << "of no memory";
  cudaGetLastError();
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

TEST(Arrays, NoneIsLargerThanAGpuCanHave) {
  const auto create = DRIVER_FUNCTION(cuArray3DCreate);
  CUarray array = nullptr;
  constexpr std::size_t kHuge = std::size_t{1} << 32; // bytes that 64 bits cannot count
  const CUDA_ARRAY3D_DESCRIPTOR desc{kHuge, kHuge, 0, CU_AD_FORMAT_FLOAT, 4, 0};
  EXPECT_EQ(create(&array, &desc), CUDA_ERROR_INVALID_VALUE);
  cudaMipmappedArray_t levels = nullptr;
  cudaArray_t level = nullptr;
  const cudaChannelFormatDesc format{32, 0, 0, 0, cudaChannelFormatKindFloat};
  ASSERT_EQ(cudaMallocMipmappedArray(&levels, &format, {64, 16, 0}, ~0u), cudaSuccess);
  EXPECT_EQ(cudaGetMipmappedArrayLevel(&level, levels, 6), cudaSuccess); // of one texel
  EXPECT_NE(cudaGetMipmappedArrayLevel(&level, levels, 7), cudaSuccess);
  cudaGetLastError();
  EXPECT_EQ(cudaFreeMipmappedArray(levels), cudaSuccess);
}

TEST(Textures, TexelsHaveOneTwoOrFourChannels) {
  void* memory = allocate(1024);
  const auto create = DRIVER_FUNCTION(cuTexObjectCreate);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = reinterpret_cast<CUdeviceptr>(memory);
  resource.res.linear.format = CU_AD_FORMAT_FLOAT;
  resource.res.linear.sizeInBytes = 1024;
  const CUDA_TEXTURE_DESC description{};
  CUtexObject texture = 0;
  for (const unsigned channels : {0u, 1u, 2u, 3u, 4u, 5u, 260u}) {
    const bool may_be = channels == 1 || channels == 2 || channels == 4;
    resource.res.linear.numChannels = channels;
    EXPECT_EQ(create(&texture, &resource, &description, nullptr),
              may_be ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)
      << channels;
  }
  cudaFree(memory);
}

} // namespace
