// SPDX-License-Identifier: Apache-2.0
// Unit tests of the simulated device in a process that has no file descriptor left: it answers an
// error code, and goes on when there are some again. One process, since a driver starts but once:
// the tests run in their order.
#include "cuda_support.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

constexpr size_t kMiB = size_t{1} << 20;

// While it lives no descriptor can be had.
class NoDescriptors {
public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
  rlimit before_{};
};

// Not through the runtime, which keeps the first answer.
template <class Function>
Function function_named(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<Function>(dlsym(library, name));
}
#define FUNCTION(name, symbol) function_named<decltype(&::name)>(symbol)

TEST(Descriptors, Start) {
  const auto init = FUNCTION(cuInit, "cuInit");
  {
    const NoDescriptors none;
    EXPECT_EQ(init(0), CUDA_ERROR_OPERATING_SYSTEM);
    EXPECT_EQ(init(0), CUDA_ERROR_OPERATING_SYSTEM);
    int count = 0;
    EXPECT_EQ(FUNCTION(cuDeviceGetCount, "cuDeviceGetCount")(&count), CUDA_ERROR_NOT_INITIALIZED);
  }
  close(STDIN_FILENO); // the device's memory must not become the standard input
  EXPECT_EQ(init(0), CUDA_SUCCESS);
  EXPECT_EQ(fcntl(STDIN_FILENO, F_GETFD), -1);
}

TEST(Descriptors, MemoryNeedsNone) {
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  const NoDescriptors none;
  void* memory = allocate(kMiB);
  EXPECT_EQ(cudaMemset(memory, 0, kMiB), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaMallocHost(&memory, kMiB), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(memory), cudaSuccess);
}

TEST(Descriptors, WhatIsSharedNeedsOne) {
  Vmm vmm;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const auto take_out = DRIVER_FUNCTION(cuMemExportToShareableHandle);
  const auto take_in = DRIVER_FUNCTION(cuMemImportFromShareableHandle);
  CUmemGenericAllocationHandle handle = 0, other = 0;
  ASSERT_EQ(vmm.create(&handle, 2 * kMiB, &prop, 0), CUDA_SUCCESS);
  int file = -1;
  ASSERT_EQ(take_out(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
  void* const given = reinterpret_cast<void*>(static_cast<intptr_t>(file));
  {
    const NoDescriptors none;
    EXPECT_EQ(vmm.create(&other, 2 * kMiB, &prop, 0), CUDA_ERROR_OPERATING_SYSTEM);
    int copy = -1;
    EXPECT_EQ(take_out(&copy, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_ERROR_OPERATING_SYSTEM);
    EXPECT_EQ(take_in(&other, given, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
              CUDA_ERROR_OPERATING_SYSTEM);
  }
  EXPECT_EQ(take_in(&other, given, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), CUDA_SUCCESS);
  EXPECT_EQ(vmm.release(other), CUDA_SUCCESS);
  EXPECT_EQ(vmm.release(handle), CUDA_SUCCESS);
  close(file);
  EXPECT_EQ(take_in(&other, given, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_ERROR_INVALID_VALUE);
}

} // namespace
