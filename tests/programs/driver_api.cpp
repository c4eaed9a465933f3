// SPDX-License-Identifier: Apache-2.0
// A program that uses the driver API alone, linked to libcuda itself: no runtime is in the process.
// libs: cuda
//
// run:
// expect: clean
// run: double
// expect: error double-free count=1 api=cuMemFree stacks="allocated here"@take:LINE(alloc),"first freed here"@free_twice:LINE(first),"freed again here"@free_twice:LINE(again)
// run: wrong
// expect: error mismatched-free count=1 api=cuMemFree stacks="allocated here"@free_host_as_device:LINE(alloc-host),"freed here"@free_host_as_device:LINE(wrong)
// run: leak
// expect: error leak bytes=4096 count=1 stacks="allocated here"@take:LINE(alloc)
// run: past-end
// expect: error copy-out-of-bounds count=1 api=cuMemcpyDtoH stacks="allocated here"@take:LINE(alloc),"copied here"@copy_past_end:LINE(copy)
#include "answers.h"

#include <cstdint>
#include <cuda.h>

static CUdeviceptr take()
{
  CUdeviceptr block = 0;
  CHECK(cuMemAlloc(&block, 4096)); // @alloc
  CHECK(cuMemsetD8(block, 0, 4096));
  return block;
}

static void free_twice(CUdeviceptr block)
{
  CHECK(cuMemFree(block)); // @first
  ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemFree(block)); // @again
}

static void free_host_as_device()
{
  void* block = nullptr;
  CHECK(cuMemAllocHost(&block, 4096)); // @alloc-host
  ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemFree(reinterpret_cast<uintptr_t>(block))); // @wrong
  CHECK(cuMemFreeHost(block));
}

static void copy_past_end(CUdeviceptr block)
{
  static char host[4097];
  ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host, block, sizeof host)); // @copy
}

int main(int argc, char** argv)
{
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  if (started_with(argc, argv, "double")) {
    free_twice(take());
  } else if (started_with(argc, argv, "wrong")) {
    free_host_as_device();
  } else if (started_with(argc, argv, "leak")) {
    take();
    return 0; // the context is not released, so the block is alive at the end of the program
  } else {
    CUdeviceptr block = take();
    if (started_with(argc, argv, "past-end"))
      copy_past_end(block);
    CHECK(cuMemFree(block));
  }
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
