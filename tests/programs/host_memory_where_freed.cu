// SPDX-License-Identifier: Apache-2.0
// Where a block was freed the host maps memory of its own, and kernels that do not read it are given its address, as
// cuBLAS's are given addresses of alpha and beta. That is no use of the freed block. The same address is one while nothing
// of the host's is there.
//
// run: managed parameter
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: clean
// run: managed structure
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: clean
// run: managed copy
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: clean
// run: managed dangling
// expect: error use-after-free count=1 message="The launch of look(void const*, int) passes as parameter 1 the pointer" stacks="allocated here"@managed_block:LINE(managed),"freed here"@managed_block:LINE(managed-freed),"launched here"
// run: managed before
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: error use-after-free count=1 stacks="allocated here"@managed_block:LINE(managed),"freed here"@managed_block:LINE(managed-freed),"launched here"
// run: pinned parameter
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: clean
// run: mapped parameter
// expect: clean
// run: mapped structure
// expect: clean
// run: mapped before
// expect: error use-after-free count=1 stacks="allocated here"@mapped_block:LINE(mapped),"unmapped here"@mapped_block:LINE(unmapped),"launched here"
// run: device parameter
// device: gpu
// expect: clean
// run: device structure
// device: gpu
// expect: clean
// run: device copy
// device: gpu
// expect: clean
// run: device dangling
// expect: error use-after-free count=1 stacks="allocated here"@device_block:LINE(device),"freed here"@device_block:LINE(device-freed),"launched here"
#include "answers.h"
#include "driver_function.h"

#include <cuda.h>
#include <sys/mman.h>

constexpr std::size_t kBytes = std::size_t{32} << 20;
struct Scales {
  int count;
  const void* alpha;
};

__global__ void look(const void* values, int uses) { if (uses != 0) *static_cast<volatile float*>(const_cast<void*>(values)) = 1; }
__global__ void look_at_field(Scales scales) { if (scales.count != 0) *static_cast<volatile float*>(const_cast<void*>(scales.alpha)) = 1; }

// A real driver may have kept the addresses, or given them away: then there is nothing to test.
static void* map_host_memory(void* at)
{
  void* memory = mmap(at, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory != at) {
    std::printf("skipped: the addresses of freed memory are not free\n");
    std::exit(77);
  }
  std::memset(memory, 1, 4096);
  return memory;
}

__attribute__((noinline)) static void* device_block()
{
  void* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes)); // @device
  TOUCH(block, kBytes);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(block)); // @device-freed
  return block;
}

__attribute__((noinline)) static void* managed_block()
{
  void* block = nullptr;
  CHECK(cudaMallocManaged(&block, kBytes)); // @managed
  TOUCH(block, kBytes);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(block)); // @managed-freed
  return block;
}

__attribute__((noinline)) static void* pinned_block()
{
  void* block = nullptr;
  CHECK(cudaMallocHost(&block, kBytes));
  TOUCH(block, kBytes);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeHost(block));
  return block;
}

// The reservation goes too, or the host could map nothing there.
__attribute__((noinline)) static void* mapped_block()
{
  const auto reserve = driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve", 10020);
  const auto create = driver_function<decltype(cuMemCreate)>("cuMemCreate", 10020);
  const auto map = driver_function<decltype(cuMemMap)>("cuMemMap", 10020);
  const auto set_access = driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess", 10020);
  const auto unmap = driver_function<decltype(cuMemUnmap)>("cuMemUnmap", 10020);
  const auto release = driver_function<decltype(cuMemRelease)>("cuMemRelease", 10020);
  const auto free_addresses = driver_function<decltype(cuMemAddressFree)>("cuMemAddressFree", 10020);
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access{};
  access.location = kind.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUdeviceptr block = 0;
  CUmemGenericAllocationHandle memory = 0;
  CHECK(reserve(&block, kBytes, 0, 0, 0));
  CHECK(create(&memory, kBytes, &kind, 0));
  CHECK(map(block, kBytes, 0, memory, 0)); // @mapped
  CHECK(set_access(block, kBytes, &access, 1));
  TOUCH(reinterpret_cast<void*>(block), kBytes);
  CHECK(cudaDeviceSynchronize());
  CHECK(unmap(block, kBytes)); // @unmapped
  CHECK(release(memory));
  CHECK(free_addresses(block, kBytes));
  return reinterpret_cast<void*>(block);
}

__attribute__((noinline)) static void give(const void* address)
{
  look<<<1, 1>>>(address, 0);
}

int main(int argc, char** argv)
{
  CHECK(argc == 3 ? 0 : 1);
  float* live = nullptr; // where the context has one, its pieces are no matter of this test
  CHECK(cudaMalloc(&live, 4096));
  TOUCH(live, 4096);
  look<<<1, 1>>>(live, 1); // what a device maps for its first kernel has its place before
  CHECK(cudaDeviceSynchronize());
  void* freed = std::strcmp(argv[1], "device") == 0    ? device_block()
                : std::strcmp(argv[1], "managed") == 0 ? managed_block()
                : std::strcmp(argv[1], "pinned") == 0  ? pinned_block()
                                                       : mapped_block();
  const char* way = argv[2];
  char* address = static_cast<char*>(freed) + 1000;
  if (std::strcmp(way, "dangling") == 0) {
    give(address);
  } else {
    if (std::strcmp(way, "before") == 0) give(address);
    map_host_memory(freed);
    if (std::strcmp(way, "structure") == 0) {
      for (int i = 0; i < 3; ++i) look_at_field<<<1, 1>>>(Scales{0, address});
    } else if (std::strcmp(way, "copy") == 0) {
      CHECK(cudaMemcpy(live, address, 1000, cudaMemcpyDefault));
    } else {
      give(address);
      give(address + 8); // other arguments, the same page
    }
  }
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(live));
  return 0;
}
