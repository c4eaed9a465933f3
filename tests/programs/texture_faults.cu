// SPDX-License-Identifier: Apache-2.0
// Mistakes with textures and surfaces inside of kernels. What a GPU answers depends on what lies beside the memory.
//
// unlike-fenced: behind a block of the fence is no memory, and a fetch past it ends the context
// run:
// device: simulated
// expect: clean
// run: outside
// device: simulated
// exit: 1
// not-checked: leak
// expect: error kernel-out-of-bounds count=1 message="the byte 64 of a row of 64 bytes"
// run: past
// device: simulated
// expect: warning copy-out-of-bounds count=1
// expect: error kernel-out-of-bounds count=1 message="right behind the end of 4.0 KiB"
// run: freed
// device: simulated
// exit: 1
// not-checked: leak
// expect: error use-after-free count=1
// expect: error kernel-use-after-free count=1 message="a texture or surface object whose array was already freed"
#include "answers.h"

#include <vector>

__global__ void write(cudaSurfaceObject_t surface, int x)
{
  surf2Dwrite<unsigned>(7, surface, x * 4, 1); // @write
}

__global__ void fetch(cudaTextureObject_t texture, int i, unsigned* out)
{
  *out = tex1Dfetch<unsigned>(texture, i); // @fetch
}

__global__ void look(cudaTextureObject_t texture, unsigned* out)
{
  *out = tex2D<unsigned>(texture, 3, 2); // @look
}

static cudaResourceDesc of(cudaArray_t array)
{
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

int main(int argc, char** argv)
{
  const bool outside = started_with(argc, argv, "outside"), past = started_with(argc, argv, "past"),
             freed = started_with(argc, argv, "freed");
  const auto channels = cudaCreateChannelDesc<unsigned>();
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &channels, 16, 8, cudaArraySurfaceLoadStore));
  const std::vector<unsigned> texels(128, 5);
  CHECK(cudaMemcpy2DToArray(array, 0, 0, texels.data(), 64, 64, 8, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = of(array);
  const cudaTextureDesc description{};
  cudaSurfaceObject_t surface = 0;
  cudaTextureObject_t texture = 0, linear = 0;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  unsigned *memory = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&memory, 4096));
  CHECK(cudaMalloc(&out, 4));
  TOUCH(memory, 4096);
  resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {memory, channels, past ? 8192u : 4096u};
  CHECK(cudaCreateTextureObject(&linear, &resource, &description, nullptr));

  write<<<1, 1>>>(surface, outside ? 16 : 15);
  const cudaError_t written = cudaDeviceSynchronize();
  fetch<<<1, 1>>>(linear, past ? 1024 : 1023, out);
  if (freed) CHECK(cudaFreeArray(array));
  look<<<1, 1>>>(texture, out);
  const cudaError_t looked = cudaDeviceSynchronize();
  if (written != cudaSuccess || looked != cudaSuccess) return 1;
  unsigned got = 0;
  CHECK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
  if (got != 5) return 2;
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaDestroyTextureObject(linear));
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(memory));
  CHECK(cudaFree(out));
  return 0;
}
