// SPDX-License-Identifier: Apache-2.0
// Each kind of memory has its own free. The wrong one is refused and leaves the block alive, so that the right one
// still works afterwards. cudaFreeAsync of cudaMalloc memory is legal. cudaFreeArray of linear memory is left out:
// the runtime takes any pointer for an array handle and reads through it.
//
// run: pinned
// expect: error mismatched-free count=1 api=cudaFree stacks="allocated here"@free_pinned_as_device:LINE(alloc-pinned),"freed here"@free_pinned_as_device:LINE(free-pinned)
// run: device
// expect: error mismatched-free count=1 api=cudaFreeHost stacks="allocated here"@free_device_as_pinned:LINE(alloc-device),"freed here"@free_device_as_pinned:LINE(free-device)
// run: registered
// expect: error mismatched-free count=1 api=cudaFreeHost stacks="registered here"@free_registered:LINE(register),"freed here"@free_registered:LINE(free-registered)
// run: array
// expect: error mismatched-free count=1 api=cudaFree stacks="allocated here"@free_array_as_linear:LINE(alloc-array),"freed here"@free_array_as_linear:LINE(free-array)
// run: async-pinned
// expect: error mismatched-free count=1 api=cudaFreeAsync stacks="allocated here"@free_pinned_async:LINE(alloc-async),"freed here"@free_pinned_async:LINE(free-async)
// run: async-device
// expect: clean
#include "answers.h"

static void free_pinned_as_device()
{
  void* block = nullptr;
  CHECK(cudaMallocHost(&block, 4096)); // @alloc-pinned
  ANSWERS(cudaErrorInvalidValue, cudaFree(block)); // @free-pinned
  CHECK(cudaFreeHost(block));
}

static void free_device_as_pinned()
{
  void* block = nullptr;
  CHECK(cudaMalloc(&block, 4096)); // @alloc-device
  TOUCH(block, 4096);
  ANSWERS(cudaErrorInvalidValue, cudaFreeHost(block)); // @free-device
  CHECK(cudaFree(block));
}

static void free_registered()
{
  alignas(4096) static char block[8192];
  CHECK(cudaHostRegister(block, sizeof block, cudaHostRegisterDefault)); // @register
  ANSWERS(cudaErrorInvalidValue, cudaFreeHost(block)); // @free-registered
  CHECK(cudaHostUnregister(block));
}

static void free_array_as_linear()
{
  cudaArray_t array = nullptr;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  float row[64] = {};
  CHECK(cudaMallocArray(&array, &format, 64, 1)); // @alloc-array
  CHECK(cudaMemcpy2DToArray(array, 0, 0, row, sizeof row, sizeof row, 1, cudaMemcpyHostToDevice));
  ANSWERS(cudaErrorInvalidValue, cudaFree(array)); // @free-array
  CHECK(cudaFreeArray(array));
}

static void free_pinned_async()
{
  void* block = nullptr;
  CHECK(cudaMallocHost(&block, 4096)); // @alloc-async
  ANSWERS(cudaErrorInvalidValue, cudaFreeAsync(block, nullptr)); // @free-async
  CHECK(cudaFreeHost(block));
}

static void free_device_async()
{
  void* block = nullptr;
  CHECK(cudaMalloc(&block, 4096));
  TOUCH(block, 4096);
  CHECK(cudaFreeAsync(block, nullptr));
  CHECK(cudaDeviceSynchronize());
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "pinned"))
    free_pinned_as_device();
  else if (started_with(argc, argv, "device"))
    free_device_as_pinned();
  else if (started_with(argc, argv, "registered"))
    free_registered();
  else if (started_with(argc, argv, "array"))
    free_array_as_linear();
  else if (started_with(argc, argv, "async-pinned"))
    free_pinned_async();
  else
    free_device_async();
  return 0;
}
