// SPDX-License-Identifier: Apache-2.0
// Memory that is alive when its context is destroyed, or when the last holder releases the primary context, has
// leaked, although the driver takes it back at that moment. The block freed in time has not.
// libs: cuda
//
// run: created
// expect: error leak bytes=12288 count=3 stacks="allocated here"@take:LINE(alloc),"context ended here"@in_created_context:LINE(destroy)
// run: primary
// expect: error leak bytes=12288 count=3 stacks="allocated here"@take:LINE(alloc),"context ended here"@in_primary_context:LINE(release)
#include "answers.h"

#include <cuda.h>

static CUdeviceptr take()
{
  CUdeviceptr block = 0;
  CHECK(cuMemAlloc(&block, 4096)); // @alloc
  CHECK(cuMemsetD8(block, 0, 4096));
  return block;
}

// All blocks come from one call site, so that those which stay make one finding.
static void work(int blocks)
{
  CUdeviceptr last = 0;
  for (int i = 0; i < blocks; ++i)
    last = take();
  CHECK(cuMemFree(last));
}

static void in_created_context(CUdevice device, int blocks)
{
  CUcontext context;
  CHECK(cuCtxCreate(&context, nullptr, 0, device));
  work(blocks);
  CHECK(cuCtxDestroy(context)); // @destroy
}

static void in_primary_context(CUdevice device, int blocks)
{
  CUcontext context;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  work(blocks);
  CHECK(cuDevicePrimaryCtxRelease(device)); // @release
}

int main(int argc, char** argv)
{
  CUdevice device;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  volatile int blocks = 4; // volatile, so that the loop stays a loop
  if (started_with(argc, argv, "created"))
    in_created_context(device, blocks);
  else
    in_primary_context(device, blocks);
  return 0;
}
