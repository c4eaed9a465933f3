// SPDX-License-Identifier: Apache-2.0
// Kernels of device 0 that use memory of device 1 by an address that lies in memory, so that no argument shows it. What
// each kind of memory asks for: cudaMalloc peer access, a pool cudaMemPoolSetAccess, a mapping cuMemSetAccess. Nothing
// opens a variable.
// run: plain
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// device: simulated
// expect: error kernel-fault message="on device 1, to which device 0 has no access" stacks="accessed here"@add_one:LINE(add),"launched here"@main:LINE(launch),"allocated here"@allocate:LINE(plain)
// not-checked: leak
// run: plain open
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
// run: variable
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// device: simulated
// expect: error kernel-fault message="on device 1, to which device 0 has no access"
// not-checked: leak
// run: variable open
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// device: simulated
// expect: error kernel-fault message="on device 1, to which device 0 has no access"
// not-checked: leak
// run: pool peers-only
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// device: simulated
// expect: error kernel-fault message="give it access to the memory's pool with cudaMemPoolSetAccess" stacks="accessed here"@add_one:LINE(add),"launched here"@main:LINE(launch),"allocated here"@allocate:LINE(pool)
// not-checked: leak
// run: pool open
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
// run: mapping peers-only
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// device: simulated
// expect: error kernel-fault message="give it access to the mapping with cuMemSetAccess"
// not-checked: leak
// run: mapping open
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
// run: both
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
#include "driver_function.h"

#include <cuda.h>
#include <cuda_runtime.h>

__device__ int variable[32];
constexpr size_t kMapped = 2 << 20;

__global__ void add_one(int** table) { table[0][threadIdx.x] += 1; } // @add

static CUmemGenericAllocationHandle physical;

// On device 1, which is current.
static int* allocate(const char* what)
{
  void* memory = nullptr;
  if (std::strcmp(what, "variable") == 0) {
    CHECK(cudaGetSymbolAddress(&memory, variable));
  } else if (std::strcmp(what, "pool") == 0) {
    CHECK(cudaMallocAsync(&memory, 128, nullptr)); // @pool
  } else if (std::strcmp(what, "mapping") == 0) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {1}};
    CUdeviceptr address = 0;
    CHECK(driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve", 10020)(&address, kMapped, 0, 0, 0));
    CHECK(driver_function<decltype(cuMemCreate)>("cuMemCreate", 10020)(&physical, kMapped, &prop, 0));
    CHECK(driver_function<decltype(cuMemMap)>("cuMemMap", 10020)(address, kMapped, 0, physical, 0));
    const CUmemAccessDesc own{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK(driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess", 10020)(address, kMapped, &own, 1));
    memory = reinterpret_cast<void*>(address);
  } else {
    CHECK(cudaMalloc(&memory, 128)); // @plain
  }
  CHECK(cudaMemset(memory, 0, 128));
  CHECK(cudaDeviceSynchronize());
  return static_cast<int*>(memory);
}

static void open_to_device_0(const char* what, void* memory)
{
  if (std::strcmp(what, "pool") == 0) {
    cudaMemPool_t pool = nullptr;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 1));
    const cudaMemAccessDesc other{{cudaMemLocationTypeDevice, {0}}, cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(pool, &other, 1));
  } else if (std::strcmp(what, "mapping") == 0) {
    const CUmemAccessDesc other{{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK(driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess", 10020)(reinterpret_cast<CUdeviceptr>(memory), kMapped, &other, 1));
  }
}

static void give_back(const char* what, int* memory)
{
  if (std::strcmp(what, "mapping") == 0) {
    CHECK(driver_function<decltype(cuMemUnmap)>("cuMemUnmap", 10020)(reinterpret_cast<CUdeviceptr>(memory), kMapped));
    CHECK(driver_function<decltype(cuMemAddressFree)>("cuMemAddressFree", 10020)(reinterpret_cast<CUdeviceptr>(memory), kMapped));
    CHECK(driver_function<decltype(cuMemRelease)>("cuMemRelease", 10020)(physical));
  } else if (std::strcmp(what, "variable") != 0) {
    CHECK(cudaFree(memory));
  }
}

int main(int argc, char** argv)
{
  const char* what = argc > 1 ? argv[1] : "plain";
  const bool peers = argc > 2, open = argc > 2 && std::strcmp(argv[2], "open") == 0;
  const bool both = std::strcmp(what, "both") == 0; // memory of each kind side by side
  CHECK(cudaSetDevice(1));
  int* memory = allocate(both ? "plain" : what);
  int* from_pool = both ? allocate("pool") : nullptr;
  if (open || both) open_to_device_0(both ? "pool" : what, memory);
  CHECK(cudaSetDevice(0));
  if ((peers || both) && std::strcmp(what, "mapping") != 0) CHECK(cudaDeviceEnablePeerAccess(1, 0));
  int** table = nullptr;
  CHECK(cudaMallocManaged(&table, sizeof(int*)));
  table[0] = memory;
  add_one<<<1, 32>>>(table); // @launch
  if (both) {
    CHECK(cudaDeviceSynchronize());
    table[0] = from_pool;
    add_one<<<1, 32>>>(table);
  }
  const cudaError_t end = cudaDeviceSynchronize();
  if (end != cudaSuccess) {
    ANSWERS(700, end); // the context of device 0 is dead
    CHECK(cudaSetDevice(1));
    give_back(what, memory);
    return 0;
  }
  int sum = 0, got[32];
  for (int* each : {memory, from_pool}) {
    if (each == nullptr) continue;
    CHECK(cudaMemcpy(got, each, sizeof got, cudaMemcpyDeviceToHost));
    for (int value : got) sum += value;
  }
  ANSWERS(both ? 64 : 32, sum);
  CHECK(cudaFree(table));
  give_back(both ? "plain" : what, memory);
  if (both) CHECK(cudaFree(from_pool));
  return 0;
}
