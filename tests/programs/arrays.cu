// SPDX-License-Identifier: Apache-2.0
// CUDA arrays and levels of mipmapped ones: copies past their extent, inside one array, and out of one that nothing has
// written. The runtime refuses a copy past the extent by itself, where a static one cannot be watched. What a real
// driver does with the handle of a freed array is undefined.
//
// run:
// expect: clean
// run: past
// expect-shared: error copy-out-of-bounds count=1 api=cudaMemcpy2DToArray message="writes 8 rows of 256 bytes at row 60, past the extent of its destination: an array of 64 rows of 256 bytes" stacks="copied here"@past:LINE(past),"allocated here"@make:LINE(alloc)
// expect-static: clean
// or: the driver refuses it
// expect: error copy-out-of-bounds count=1 api=cudaMemcpy2DToArray stacks="copied here"@past:LINE(past),"allocated here"@make:LINE(alloc)
// run: past-level
// expect-shared: error copy-out-of-bounds count=1 api=cudaMemcpy2DToArray message="level 1 (32 rows of 128 bytes) of a mipmapped array" stacks="copied here"@past_level:LINE(past-level),"allocated here"@past_level:LINE(mipmapped)
// expect-static: clean
// or: the driver refuses it
// expect: error copy-out-of-bounds count=1 api=cudaMemcpy2DToArray stacks="copied here"@past_level:LINE(past-level),"allocated here"@past_level:LINE(mipmapped)
// run: overlap
// expect: error copy-overlap count=1 api=cudaMemcpy2DArrayToArray message="copies 16 rows of 256 bytes inside one array, from byte 0 of row 8 to byte 0 of row 0" stacks="copied here"@overlap:LINE(overlap),"allocated here"@make:LINE(alloc)
// run: unwritten
// expect: error uninitialized-read count=1 bytes=16384 api=cudaMemcpy2DFromArray message="no copy, and no surface was made of it" stacks="copied here"@read_back:LINE(read),"allocated here"@make:LINE(alloc)
// run: surface
// expect: silent
// run: freed
// device: simulated
// expect: error use-after-free count=1 api=cudaMemcpy2DToArray stacks="copied here"@use_freed:LINE(freed-copy),"freed here"@use_freed:LINE(free),"allocated here"@make:LINE(alloc)
// expect: error use-after-free count=1 api=cudaCreateSurfaceObject stacks="called here"@make_surface:LINE(surface),"freed here"@use_freed:LINE(free),"allocated here"@make:LINE(alloc)
#include "answers.h"

constexpr size_t kWidth = 256, kHeight = 64; // bytes, rows
constexpr auto kUp = cudaMemcpyHostToDevice, kDown = cudaMemcpyDeviceToHost;
static char host[kWidth * kHeight];

__attribute__((noinline)) static cudaArray_t make()
{
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &format, kWidth / sizeof(float), kHeight, cudaArraySurfaceLoadStore)); // @alloc
  return array;
}

__attribute__((noinline)) static void past(cudaArray_t array)
{
  ANSWERS(cudaErrorInvalidValue, cudaMemcpy2DToArray(array, 0, 60, host, kWidth, kWidth, 8, kUp)); // @past
}

__attribute__((noinline)) static void past_level()
{
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  const cudaExtent extent = make_cudaExtent(kWidth / sizeof(float), kHeight, 0);
  cudaMipmappedArray_t mipmapped = nullptr;
  cudaArray_t level = nullptr;
  CHECK(cudaMallocMipmappedArray(&mipmapped, &format, extent, 2)); // @mipmapped
  CHECK(cudaGetMipmappedArrayLevel(&level, mipmapped, 1));
  CHECK(cudaMemcpy2DToArray(level, 0, 0, host, kWidth, kWidth / 2, kHeight / 2, kUp));
  ANSWERS(cudaErrorInvalidValue, cudaMemcpy2DToArray(level, 0, 0, host, kWidth, kWidth, kHeight / 2, kUp)); // @past-level
  CHECK(cudaFreeMipmappedArray(mipmapped));
}

__attribute__((noinline)) static void overlap(cudaArray_t array)
{
  constexpr auto kAcross = cudaMemcpyDeviceToDevice;
  CHECK(cudaMemcpy2DArrayToArray(array, 0, 0, array, 0, 16, kWidth, 16, kAcross)); // the next rows
  CHECK(cudaMemcpy2DArrayToArray(array, 0, 0, array, 0, 8, kWidth, 16, kAcross)); // @overlap
}

__attribute__((noinline)) static void read_back(cudaArray_t array)
{
  CHECK(cudaMemcpy2DFromArray(host, kWidth, array, 0, 0, kWidth, kHeight, kDown)); // @read
}

__attribute__((noinline)) static cudaError_t make_surface(cudaArray_t array, cudaSurfaceObject_t* surface)
{
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return cudaCreateSurfaceObject(surface, &resource); // @surface
}

__attribute__((noinline)) static void use_freed(cudaArray_t array)
{
  cudaSurfaceObject_t surface = 0;
  CHECK(cudaFreeArray(array)); // @free
  if (cudaMemcpy2DToArray(array, 0, 0, host, kWidth, kWidth, kHeight, kUp) == cudaSuccess) std::exit(3); // @freed-copy
  if (make_surface(array, &surface) == cudaSuccess) std::exit(3);
}

int main(int argc, char** argv)
{
  const auto is = [&](const char* way) { return started_with(argc, argv, way); };
  cudaArray_t array = make();
  cudaSurfaceObject_t surface = 0;
  if (is("surface")) CHECK(make_surface(array, &surface));
  else if (!is("unwritten")) CHECK(cudaMemcpy2DToArray(array, 0, 0, host, kWidth, kWidth, kHeight, kUp));
  if (is("past")) past(array);
  if (is("past-level")) past_level();
  if (is("overlap")) overlap(array);
  read_back(array);
  if (is("surface")) CHECK(cudaDestroySurfaceObject(surface));
  (void)cudaGetLastError(); // of what was refused
  if (is("freed")) use_freed(array);
  else CHECK(cudaFreeArray(array));
  return 0;
}
