// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces whose memory was freed, or that were destroyed, given to a kernel. The kernel reads nothing, so
// that it ends well on every device. A number that is equal to a texture's is no texture where the kernel declares
// another type.
//
// run:
// expect: clean
// run: linear
// expect: error use-after-free count=1 api=cudaLaunchKernel bytes=4096 message="passes as parameter 1 a texture object whose memory was already freed: 4.0 KiB of device memory allocated by cudaMalloc" stacks="launched here"@launch:LINE(launch),"freed here"@linear:LINE(free-linear),"allocated here"@linear:LINE(linear),"created here"@make_linear:LINE(make-linear)
// run: array
// expect: error use-after-free count=1 api=cudaLaunchKernel message="a texture object whose memory was already freed" stacks="launched here"@launch:LINE(launch),"freed here"@array:LINE(free-array),"allocated here"@array:LINE(array),"created here"@make_of_array:LINE(make-array)
// run: surface
// expect: error use-after-free count=1 api=cudaLaunchKernel message="a surface object whose memory was already freed" stacks="launched here"@launch:LINE(launch),"freed here"@surface:LINE(free-surface),"allocated here"@surface:LINE(surface),"created here"@surface:LINE(make-surface)
// run: destroyed
// expect: error use-after-free count=1 api=cudaLaunchKernel message="a texture object that was already destroyed" stacks="launched here"@launch:LINE(launch),"destroyed here"@destroyed:LINE(destroy),"created here"@make_linear:LINE(make-linear)
// run: number
// expect: clean
#include "answers.h"

__global__ void look(cudaTextureObject_t texture, int reads)
{
  if (reads != 0)
    (void)tex1Dfetch<float>(texture, 0);
}

__global__ void count(long long n, int counts)
{
  if (counts != 0 && n == 0)
    __trap();
}

static void launch(unsigned long long object)
{
  look<<<1, 1>>>(object, 0); // @launch
  CHECK(cudaDeviceSynchronize());
}

static cudaTextureObject_t make_linear(void* memory)
{
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = 4096;
  cudaTextureDesc description{};
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr)); // @make-linear
  return texture;
}

static cudaTextureObject_t make_of_array(cudaArray_t memory)
{
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = memory;
  cudaTextureDesc description{};
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr)); // @make-array
  return texture;
}

static void linear()
{
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4096)); // @linear
  TOUCH(memory, 4096);
  const cudaTextureObject_t texture = make_linear(memory);
  CHECK(cudaFree(memory)); // @free-linear
  launch(texture);
  CHECK(cudaDestroyTextureObject(texture));
}

static void array()
{
  cudaArray_t memory = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&memory, &format, 64, 64)); // @array
  const cudaTextureObject_t texture = make_of_array(memory);
  CHECK(cudaFreeArray(memory)); // @free-array
  launch(texture);
  CHECK(cudaDestroyTextureObject(texture));
}

static void surface()
{
  cudaArray_t memory = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&memory, &format, 64, 64, cudaArraySurfaceLoadStore)); // @surface
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = memory;
  cudaSurfaceObject_t object = 0;
  CHECK(cudaCreateSurfaceObject(&object, &resource)); // @make-surface
  CHECK(cudaFreeArray(memory)); // @free-surface
  launch(object);
  CHECK(cudaDestroySurfaceObject(object));
}

static void destroyed()
{
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4096));
  TOUCH(memory, 4096);
  const cudaTextureObject_t texture = make_linear(memory);
  look<<<1, 1>>>(texture, 0);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaDestroyTextureObject(texture)); // @destroy
  launch(texture);
  CHECK(cudaFree(memory));
}

// The texture is gone with its memory; what is left is a number.
static void number()
{
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4096));
  TOUCH(memory, 4096);
  const cudaTextureObject_t texture = make_linear(memory);
  CHECK(cudaFree(memory));
  count<<<1, 1>>>(static_cast<long long>(texture), 0);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaDestroyTextureObject(texture));
  look<<<1, 1>>>(texture, 0); // no texture ever was given to this parameter
  CHECK(cudaDeviceSynchronize());
}

static void in_order()
{
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4096));
  TOUCH(memory, 4096);
  for (int i = 0; i < 3; ++i) {
    const cudaTextureObject_t texture = make_linear(memory);
    launch(texture);
    CHECK(cudaDestroyTextureObject(texture));
  }
  CHECK(cudaFree(memory));
}

int main(int argc, char** argv)
{
  CHECK(cudaFree(nullptr));
  if (started_with(argc, argv, "linear"))
    linear();
  else if (started_with(argc, argv, "array"))
    array();
  else if (started_with(argc, argv, "surface"))
    surface();
  else if (started_with(argc, argv, "destroyed"))
    destroyed();
  else if (started_with(argc, argv, "number"))
    number();
  else
    in_order();
  return 0;
}
