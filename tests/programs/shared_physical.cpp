// SPDX-License-Identifier: Apache-2.0
// Physical memory as a file descriptor, imported again: the import is a birth of its own, which needs its own release.
// libs: cuda
//
// run:
// expect: clean
// run: no-release-of-import
// expect: error leak count=1
// run: no-release-after-mapping
// expect: error leak count=1 bytes=2097152
#include "answers.h"

#include <cuda.h>
#include <unistd.h>

#include <cstdint>

constexpr size_t kBytes = 2 * 1024 * 1024;
constexpr auto kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

static CUmemGenericAllocationHandle create()
{
  CUmemAllocationProp properties{};
  CUmemGenericAllocationHandle handle = 0;
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = kFile;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CHECK(cuMemCreate(&handle, kBytes, &properties, 0));
  return handle;
}

static CUmemGenericAllocationHandle import_again(CUmemGenericAllocationHandle handle)
{
  int file = -1;
  CUmemGenericAllocationHandle imported = 0;
  CHECK(cuMemExportToShareableHandle(&file, handle, kFile, 0));
  CHECK(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(static_cast<intptr_t>(file)), kFile));
  close(file);
  return imported;
}

int main(int argc, char** argv)
{
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CUmemGenericAllocationHandle made = create(), imported = import_again(made);
  const bool is_mapped = started_with(argc, argv, "no-release-after-mapping");
  if (is_mapped) {
    CUdeviceptr address = 0;
    CHECK(cuMemAddressReserve(&address, kBytes, 0, 0, 0));
    CHECK(cuMemMap(address, kBytes, 0, imported, 0));
    CHECK(cuMemUnmap(address, kBytes));
    CHECK(cuMemAddressFree(address, kBytes));
  }
  if (!is_mapped && !started_with(argc, argv, "no-release-of-import"))
    CHECK(cuMemRelease(imported));
  CHECK(cuMemRelease(made));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
