// SPDX-License-Identifier: Apache-2.0
// Unit tests of what the simulated device shares between processes and takes from outside: IPC
// handles, pools and allocations as file descriptors, external memory; and of several devices and
// others' memory. A child is this program again with one test chosen, since CUDA does not survive
// fork. It inherits descriptors.
#include "cuda_support.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kBytes = 100000;
constexpr size_t kMiB = size_t{1} << 20;

template <class T>
std::string to_text(const T& value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
  std::string text;
  char pair[3];
  for (size_t i = 0; i < sizeof value; ++i) {
    std::snprintf(pair, sizeof pair, "%02x", bytes[i]);
    text += pair;
  }
  return text;
}

template <class T>
T from_text(const char* text) {
  T value{};
  auto* bytes = reinterpret_cast<unsigned char*>(&value);
  for (size_t i = 0; i < sizeof value; ++i) {
    unsigned byte = 0;
    std::sscanf(text + 2 * i, "%2x", &byte);
    bytes[i] = static_cast<unsigned char>(byte);
  }
  return value;
}

// Runs the named Child test in another process, with `text` in its environment; whether it
// succeeded.
bool child_succeeds(const char* test, const std::string& text, int descriptor = -1) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("GMT_TEST_SHARED", text.c_str(), 1);
    if (descriptor >= 0) dup2(descriptor, 100);
    const std::string filter = std::string("--gtest_filter=Child.") + test;
    execl("/proc/self/exe", "share_test", filter.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

const char* shared_text() { return std::getenv("GMT_TEST_SHARED"); }

char byte_at(const void* device) {
  char value = 0;
  EXPECT_EQ(cudaMemcpy(&value, device, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  return value;
}

TEST(Share, AnotherProcessOpensDeviceMemory) {
  char* memory = static_cast<char*>(allocate(kBytes));
  cudaMemset(memory, 'p', kBytes);
  cudaIpcMemHandle_t handle{};
  ASSERT_EQ(cudaIpcGetMemHandle(&handle, memory + 512), cudaSuccess);
  EXPECT_TRUE(child_succeeds("OpensDeviceMemory", to_text(handle)));
  EXPECT_EQ(byte_at(memory + kBytes - 1), 'c');
  cudaFree(memory);
}

TEST(Child, OpensDeviceMemory) {
  if (shared_text() == nullptr) GTEST_SKIP();
  const auto handle = from_text<cudaIpcMemHandle_t>(shared_text());
  char *memory = nullptr, *again = nullptr;
  ASSERT_EQ(
    cudaIpcOpenMemHandle(reinterpret_cast<void**>(&memory), handle, cudaIpcMemLazyEnablePeerAccess),
    cudaSuccess);
  ASSERT_EQ(
    cudaIpcOpenMemHandle(reinterpret_cast<void**>(&again), handle, cudaIpcMemLazyEnablePeerAccess),
    cudaSuccess);
  EXPECT_EQ(memory, again);
  EXPECT_EQ(byte_at(memory), 'p');
  EXPECT_EQ(cudaMemset(memory, 'c', kBytes), cudaSuccess);
  EXPECT_EQ(cudaMemset(memory, 'c', kBytes + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue);
  EXPECT_EXIT({ *memory = 1; }, testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EQ(cudaIpcCloseMemHandle(memory), cudaSuccess);
  EXPECT_EQ(byte_at(memory), 'c') << "opened twice";
  EXPECT_EQ(cudaIpcCloseMemHandle(memory), cudaSuccess);
  EXPECT_EQ(cudaIpcCloseMemHandle(memory), cudaErrorInvalidValue);
}

TEST(Share, AnotherProcessOpensAnEvent) {
  cudaEvent_t event = nullptr;
  cudaIpcEventHandle_t handle{};
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaIpcGetEventHandle(&handle, event), cudaErrorInvalidValue)
    << "not made for other processes";
  cudaEventDestroy(event);
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess),
            cudaSuccess);
  ASSERT_EQ(cudaIpcGetEventHandle(&handle, event), cudaSuccess);
  EXPECT_TRUE(child_succeeds("OpensAnEvent", to_text(handle)));
  cudaEventDestroy(event);
  cudaGetLastError();
}

TEST(Child, OpensAnEvent) {
  if (shared_text() == nullptr) GTEST_SKIP();
  cudaEvent_t event = nullptr;
  cudaFree(nullptr);
  ASSERT_EQ(cudaIpcOpenEventHandle(&event, from_text<cudaIpcEventHandle_t>(shared_text())),
            cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(nullptr, event, 0), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

cudaMemPool_t make_pool(cudaMemAllocationHandleType type) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = type;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool = nullptr;
  EXPECT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  return pool;
}

TEST(Share, AnotherProcessImportsAPoolPointer) {
  constexpr auto kType = cudaMemHandleTypePosixFileDescriptor;
  int descriptor = -1;
  cudaMemPool_t closed = make_pool(cudaMemHandleTypeNone);
  EXPECT_EQ(cudaMemPoolExportToShareableHandle(&descriptor, closed, kType, 0),
            cudaErrorInvalidValue);
  cudaMemPoolDestroy(closed);
  cudaMemPool_t pool = make_pool(kType);
  void* memory = nullptr;
  cudaMemPoolPtrExportData data{};
  ASSERT_EQ(cudaMallocFromPoolAsync(&memory, kBytes, pool, nullptr), cudaSuccess);
  cudaMemsetAsync(memory, 'q', kBytes, nullptr);
  ASSERT_EQ(cudaMemPoolExportToShareableHandle(&descriptor, pool, kType, 0), cudaSuccess);
  ASSERT_EQ(cudaMemPoolExportPointer(&data, memory), cudaSuccess);
  EXPECT_TRUE(child_succeeds("ImportsAPoolPointer", to_text(data), descriptor));
  close(descriptor);
  cudaFreeAsync(memory, nullptr);
  cudaMemPoolDestroy(pool);
  cudaGetLastError();
}

TEST(Child, ImportsAPoolPointer) {
  if (shared_text() == nullptr) GTEST_SKIP();
  auto data = from_text<cudaMemPoolPtrExportData>(shared_text());
  cudaMemPool_t pool = nullptr;
  void *memory = nullptr, *other = nullptr;
  cudaFree(nullptr);
  ASSERT_EQ(cudaMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(100),
                                                 cudaMemHandleTypePosixFileDescriptor, 0),
            cudaSuccess);
  ASSERT_EQ(cudaMemPoolImportPointer(&memory, pool, &data), cudaSuccess);
  EXPECT_EQ(byte_at(memory), 'q');
  EXPECT_EQ(cudaMallocFromPoolAsync(&other, kBytes, pool, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeAsync(memory, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(memory, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
}

TEST(Share, AnAllocationIsImportedByItsDescriptor) {
  const Vmm vmm;
  const auto export_handle = DRIVER_FUNCTION(cuMemExportToShareableHandle);
  const auto import_handle = DRIVER_FUNCTION(cuMemImportFromShareableHandle);
  constexpr auto kType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  constexpr size_t kSize = 2 * kMiB;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle closed = 0, open = 0, imported = 0;
  int descriptor = -1;
  ASSERT_EQ(vmm.create(&closed, kSize, &prop, 0), CUDA_SUCCESS);
  EXPECT_EQ(export_handle(&descriptor, closed, kType, 0), CUDA_ERROR_INVALID_VALUE);
  vmm.release(closed);
  prop.requestedHandleTypes = kType;
  ASSERT_EQ(vmm.create(&open, kSize, &prop, 0), CUDA_SUCCESS);
  ASSERT_EQ(export_handle(&descriptor, open, kType, 0), CUDA_SUCCESS);
  ASSERT_EQ(
    import_handle(&imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)), kType),
    CUDA_SUCCESS);
  close(descriptor);
  CUdeviceptr address = 0;
  ASSERT_EQ(vmm.reserve(&address, 2 * kSize, 0, 0, 0), CUDA_SUCCESS);
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  ASSERT_EQ(vmm.map(address, kSize, 0, open, 0), CUDA_SUCCESS);
  ASSERT_EQ(vmm.map(address + kSize, kSize, 0, imported, 0), CUDA_SUCCESS);
  ASSERT_EQ(vmm.set_access(address, 2 * kSize, &access, 1), CUDA_SUCCESS);
  ASSERT_EQ(cudaMemset(reinterpret_cast<void*>(address), 'v', kSize), cudaSuccess);
  EXPECT_EQ(byte_at(reinterpret_cast<void*>(address + 2 * kSize - 1)), 'v')
    << "the same memory twice";
  EXPECT_EQ(vmm.unmap(address, 2 * kSize), CUDA_SUCCESS);
  EXPECT_EQ(vmm.release(imported), CUDA_SUCCESS);
  EXPECT_EQ(vmm.release(open), CUDA_SUCCESS);
  EXPECT_EQ(vmm.free_address(address, 2 * kSize), CUDA_SUCCESS);
}

TEST(Share, ExternalMemoryIsAFileOfAnotherProcess) {
  cudaFree(nullptr);
  const int file = memfd_create("not-ours", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, 64 * 1024), 0);
  ASSERT_EQ(pwrite(file, "external", 8, 5000), 8);
  cudaExternalMemoryHandleDesc handle{};
  handle.type = cudaExternalMemoryHandleTypeOpaqueFd;
  handle.handle.fd = file;
  handle.size = 64 * 1024 + 1;
  cudaExternalMemory_t memory = nullptr;
  EXPECT_EQ(cudaImportExternalMemory(&memory, &handle), cudaErrorInvalidValue)
    << "larger than the file";
  handle.size = 64 * 1024;
  ASSERT_EQ(cudaImportExternalMemory(&memory, &handle), cudaSuccess);
  cudaExternalMemoryBufferDesc buffer{};
  buffer.offset = 5000;
  buffer.size = 64 * 1024;
  void* mapped = nullptr;
  EXPECT_EQ(cudaExternalMemoryGetMappedBuffer(&mapped, memory, &buffer), cudaErrorInvalidValue)
    << "past its end";
  buffer.size = 1000;
  ASSERT_EQ(cudaExternalMemoryGetMappedBuffer(&mapped, memory, &buffer), cudaSuccess);
  EXPECT_EQ(cudaDestroyExternalMemory(memory), cudaSuccess);
  EXPECT_EQ(byte_at(mapped), 'e') << "buffers outlive the import";
  EXPECT_EQ(cudaMemset(mapped, 0, 1001), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(mapped), cudaSuccess);
  EXPECT_EQ(cudaFree(mapped), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Devices, CopyBetweenTwoAndPeerAccess) {
  int count = 0, possible = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  ASSERT_EQ(count, 2) << "GPUMEMTRACE_SIM_DEVICES";
  ASSERT_EQ(cudaDeviceCanAccessPeer(&possible, 0, 1), cudaSuccess);
  EXPECT_EQ(possible, 1);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  void *first = allocate(100), *second = nullptr;
  cudaMemset(first, 'd', 100);
  cudaSetDevice(1);
  second = allocate(100);
  EXPECT_EQ(cudaMemcpyPeer(second, 1, first, 0, 100), cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeer(second, 1, first, 0, 101), cudaErrorInvalidValue);
  EXPECT_EQ(byte_at(second), 'd');
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, second), cudaSuccess);
  EXPECT_EQ(attributes.device, 1);
  cudaFree(second);
  cudaSetDevice(0);
  cudaFree(first);
  cudaGetLastError();
}

TEST(Devices, PeerAccessCanBeMissing) {
  setenv("GPUMEMTRACE_SIM_PEER_ACCESS", "0", 1);
  EXPECT_TRUE(child_succeeds("MissesPeerAccess", ""));
  unsetenv("GPUMEMTRACE_SIM_PEER_ACCESS");
}

TEST(Child, MissesPeerAccess) {
  if (shared_text() == nullptr) GTEST_SKIP();
  int possible = -1;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&possible, 0, 1), cudaSuccess);
  EXPECT_EQ(possible, 0);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessUnsupported);
}

TEST(Devices, APoolOpensForAnotherDevice) {
  cudaMemPool_t pool = make_pool(cudaMemHandleTypeNone);
  cudaMemLocation other{cudaMemLocationTypeDevice, 1};
  cudaMemAccessFlags flags{};
  ASSERT_EQ(cudaMemPoolGetAccess(&flags, pool, &other), cudaSuccess);
  EXPECT_EQ(flags, cudaMemAccessFlagsProtNone);
  const cudaMemAccessDesc access{other, cudaMemAccessFlagsProtReadWrite};
  EXPECT_EQ(cudaMemPoolSetAccess(pool, &access, 1), cudaSuccess);
  ASSERT_EQ(cudaMemPoolGetAccess(&flags, pool, &other), cudaSuccess);
  EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
  const cudaMemAccessDesc own{{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtNone};
  EXPECT_EQ(cudaMemPoolSetAccess(pool, &own, 1), cudaErrorInvalidValue);
  cudaMemPoolDestroy(pool);
  cudaGetLastError();
}

TEST(Devices, WhatIsMissingSaysSo) {
  CUexternalSemaphore semaphore = nullptr;
  CUmemGenericAllocationHandle multicast = 0;
  const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
  const CUmulticastObjectProp properties{};
  EXPECT_EQ(DRIVER_FUNCTION(cuImportExternalSemaphore)(&semaphore, &description),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(DRIVER_FUNCTION(cuMulticastCreate)(&multicast, &properties), CUDA_ERROR_NOT_SUPPORTED);
}

TEST(Devices, OthersMemoryIsNotFree) {
  size_t available = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&available, &total), cudaSuccess);
  EXPECT_EQ(total, 64 * kMiB);
  EXPECT_EQ(available, 48 * kMiB) << "GPUMEMTRACE_SIM_USED_BY_OTHERS";
}

} // namespace
