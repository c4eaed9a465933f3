// SPDX-License-Identifier: Apache-2.0
// Virtual memory management comes in halves: physical memory (create, release), addresses (reserve, free), and what
// joins them (map, unmap). Each half that is forgotten is a leak of its own; a mapping also keeps the other two.
// libs: cuda
//
// run:
// expect: clean
// run: no-release
// expect: error leak bytes=4194304 count=1 stacks="allocated here"@make:LINE(create)
// run: no-address-free
// expect: error leak bytes=4194304 count=1 stacks="allocated here"@make:LINE(reserve)
// run: no-unmap
// expect: error leak bytes=4194304 count=1 stacks="allocated here"@make:LINE(reserve)
// expect: error leak bytes=4194304 count=1 stacks="allocated here"@make:LINE(map)
// run: release-twice
// expect: error double-free count=1 api=cuMemRelease stacks="allocated here"@make:LINE(create),"first released here"@release:LINE(release),"released again here"@release_again:LINE(again)
// run: no-access
// device: simulated
// expect: warning api-error count=1 api=cuMemsetD8 message="no device was given access" stacks="failed here"@make:LINE(set),"allocated here"@make:LINE(map)
#include "answers.h"

#include <cuda.h>

constexpr size_t kBytes = 4 * 1024 * 1024;

struct Mapping {
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
};

static Mapping make(bool with_access)
{
  Mapping mapping;
  CUmemAllocationProp properties{};
  CUmemAccessDesc access{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemCreate(&mapping.handle, kBytes, &properties, 0)); // @create
  CHECK(cuMemAddressReserve(&mapping.address, kBytes, 0, 0, 0)); // @reserve
  CHECK(cuMemMap(mapping.address, kBytes, 0, mapping.handle, 0)); // @map
  if (with_access)
    CHECK(cuMemSetAccess(mapping.address, kBytes, &access, 1));
  const CUresult expected = with_access ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  ANSWERS(expected, cuMemsetD8(mapping.address, 1, kBytes)); // @set
  CHECK(cuCtxSynchronize()); // the set must be done before the memory is unmapped
  return mapping;
}

static void release(const Mapping& mapping)
{
  CHECK(cuMemRelease(mapping.handle)); // @release
}

static void release_again(const Mapping& mapping)
{
  ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(mapping.handle)); // @again
}

int main(int argc, char** argv)
{
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  Mapping mapping = make(!started_with(argc, argv, "no-access"));
  bool mapped = started_with(argc, argv, "no-unmap");
  if (!started_with(argc, argv, "no-release"))
    release(mapping);
  if (started_with(argc, argv, "release-twice"))
    release_again(mapping);
  if (!mapped)
    CHECK(cuMemUnmap(mapping.address, kBytes));
  if (!mapped && !started_with(argc, argv, "no-address-free"))
    CHECK(cuMemAddressFree(mapping.address, kBytes));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
