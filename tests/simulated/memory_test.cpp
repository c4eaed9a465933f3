// SPDX-License-Identifier: Apache-2.0
// Unit tests of the simulated device's memory: protection, reuse, capacity, holes, VMM, pools,
// threads, signals. Needs LD_LIBRARY_PATH to name the simulated libraries; the capacity is set by
// the test's environment (64 MiB).
#include "cuda_support.h"

#include <gtest/gtest.h>

#include <sys/time.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(Memory, DeviceMemoryFaultsOnTheHost) {
  char* pointer = static_cast<char*>(allocate(4096));
  EXPECT_EXIT({ *pointer = 1; }, testing::KilledBySignal(SIGSEGV), "");
  cudaFree(pointer);
}

TEST(Memory, BytesMakeTheRoundTrip) {
  const std::vector<char> sent(100000, 'x');
  std::vector<char> received(sent.size());
  void* pointer = allocate(sent.size());
  ASSERT_EQ(cudaMemcpy(pointer, sent.data(), sent.size(), cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemset(static_cast<char*>(pointer) + 7, 'y', 3), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(received.data(), pointer, sent.size(), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(std::string(received.begin(), received.begin() + 12), "xxxxxxxyyyxx");
  EXPECT_EQ(received.back(), 'x');
  cudaFree(pointer);
}

TEST(Memory, RowsOfAPitchedCopyLandAtTheirAddresses) {
  void* pointer = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&pointer, &pitch, 100, 3), cudaSuccess);
  char rows[3][100];
  for (int i = 0; i < 3; ++i) std::memset(rows[i], 'a' + i, 100);
  ASSERT_EQ(cudaMemcpy2D(pointer, pitch, rows, 100, 100, 3, cudaMemcpyHostToDevice), cudaSuccess);
  char back = 0;
  ASSERT_EQ(
    cudaMemcpy(&back, static_cast<char*>(pointer) + 2 * pitch + 99, 1, cudaMemcpyDeviceToHost),
    cudaSuccess);
  EXPECT_EQ(back, 'c');
  cudaFree(pointer);
}

// A kernel that uses freed memory, or goes past its block's end, must not meet another block.
TEST(Memory, AFreedAddressRests) {
  void* first = allocate(5000);
  cudaFree(first);
  void* second = allocate(5000);
  EXPECT_NE(first, second);
  cudaFree(second);
}

// Of memory that the host may use as well, more than a page of it.
TEST(Memory, FreedAddressesOfHostMemoryRest) {
  void *managed = nullptr, *pinned = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 5000), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 5000), cudaSuccess);
  ASSERT_EQ(cudaFree(managed), cudaSuccess);
  ASSERT_EQ(cudaFreeHost(pinned), cudaSuccess);
  for (int i = 0; i < 3; ++i) {
    void *later_managed = nullptr, *later_pinned = nullptr;
    ASSERT_EQ(cudaMallocManaged(&later_managed, 5000), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&later_pinned, 5000), cudaSuccess);
    for (void* later : {later_managed, later_pinned}) {
      EXPECT_NE(later, managed);
      EXPECT_NE(later, pinned);
    }
    EXPECT_EQ(cudaFree(later_managed), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(later_pinned), cudaSuccess);
  }
  EXPECT_EXIT({ *static_cast<volatile char*>(managed) = 1; }, testing::KilledBySignal(SIGSEGV), "");
}

TEST(Memory, NeighboursHaveAGap) {
  auto* first = static_cast<char*>(allocate(4096));
  auto* second = static_cast<char*>(allocate(4096));
  EXPECT_GE(second > first ? second - first : first - second, 2 * 4096);
  cudaFree(first);
  cudaFree(second);
}

// What rests is not lost: memory that is needed comes back.
TEST(Memory, MemoryThatRestsCountsAsFree) {
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  cudaFree(allocate(kMiB));
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(before, after);
  void* whole = allocate(after);
  EXPECT_NE(whole, nullptr);
  cudaFree(whole);
}

TEST(Memory, CapacityIsTheEnvironments) {
  size_t available = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&available, &total), cudaSuccess);
  EXPECT_EQ(total, 64 * kMiB);
  void* whole = allocate(available);
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaFree(whole), cudaSuccess);
}

TEST(Memory, HolesThatAreTooSmallDoNotServe) {
  std::vector<void*> blocks;
  for (void* pointer = nullptr; cudaMalloc(&pointer, kMiB) == cudaSuccess;)
    blocks.push_back(pointer);
  cudaGetLastError();
  for (size_t i = 0; i < blocks.size(); i += 2) cudaFree(blocks[i]);
  size_t available = 0, total = 0;
  cudaMemGetInfo(&available, &total);
  EXPECT_GE(available, 30 * kMiB);
  void* large = nullptr;
  EXPECT_EQ(cudaMalloc(&large, 2 * kMiB), cudaErrorMemoryAllocation);
  cudaGetLastError();
  void* small = allocate(kMiB);
  EXPECT_EQ(small, blocks[0]) << "first fit takes the lowest hole";
  cudaFree(small);
  for (size_t i = 1; i < blocks.size(); i += 2) cudaFree(blocks[i]);
  void* whole = allocate(available); // the holes have grown together
  cudaFree(whole);
}

TEST(Memory, PoolsCountWhatIsUsed) {
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &props), cudaSuccess);
  void* pointer = nullptr;
  ASSERT_EQ(cudaMallocFromPoolAsync(&pointer, 1000, pool, nullptr), cudaSuccess);
  uint64_t used = 0;
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 1000u);
  ASSERT_EQ(cudaDeviceSetMemPool(0, pool), cudaSuccess);
  cudaMemPool_t current = nullptr;
  ASSERT_EQ(cudaDeviceGetMemPool(&current, 0), cudaSuccess);
  EXPECT_EQ(current, pool);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess) << "outstanding blocks do not prevent it";
  EXPECT_EQ(cudaFreeAsync(pointer, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Memory, NeighbouringMappingsAreOneRange) {
  const Vmm vmm;
  constexpr size_t kBytes = 2 * kMiB;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUdeviceptr base = 0;
  CUmemGenericAllocationHandle one = 0, two = 0;
  ASSERT_EQ(vmm.reserve(&base, 2 * kBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(vmm.create(&one, kBytes, &prop, 0), CUDA_SUCCESS);
  ASSERT_EQ(vmm.create(&two, kBytes, &prop, 0), CUDA_SUCCESS);
  ASSERT_EQ(vmm.map(base, kBytes, 0, one, 0), CUDA_SUCCESS);
  ASSERT_EQ(vmm.map(base + kBytes, kBytes, 0, two, 0), CUDA_SUCCESS);
  auto* pointer = reinterpret_cast<void*>(base);
  EXPECT_EQ(cudaMemset(pointer, 1, 16), cudaErrorInvalidValue) << "no access yet";
  CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  ASSERT_EQ(vmm.set_access(base, 2 * kBytes, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(cudaMemset(reinterpret_cast<void*>(base + kBytes - 8), 7, 16), cudaSuccess)
    << "across both";
  EXPECT_EQ(cudaMemset(pointer, 1, 2 * kBytes + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue);
  EXPECT_EQ(vmm.release(one), CUDA_SUCCESS);
  EXPECT_EQ(vmm.unmap(base, kBytes / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(vmm.free_address(base, 2 * kBytes), CUDA_ERROR_INVALID_VALUE) << "still mapped";
  EXPECT_EQ(vmm.unmap(base, 2 * kBytes), CUDA_SUCCESS);
  EXPECT_EQ(vmm.release(two), CUDA_SUCCESS);
  EXPECT_EQ(vmm.release(two), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(vmm.free_address(base, 2 * kBytes), CUDA_SUCCESS);
  cudaGetLastError();
}

TEST(Memory, ArraysKeepTheirBytes) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  ASSERT_EQ(cudaMallocArray(&array, &desc, 8, 4), cudaSuccess);
  float sent[32], received[32];
  for (int i = 0; i < 32; ++i) sent[i] = static_cast<float>(i);
  ASSERT_EQ(cudaMemcpy2DToArray(array, 0, 0, sent, 32, 32, 4, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy2DFromArray(received, 32, array, 0, 0, 32, 4, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_TRUE(std::equal(std::begin(sent), std::end(sent), received));
  EXPECT_EQ(cudaMemcpy2DToArray(array, 0, 0, sent, 32, 32, 5, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
  EXPECT_NE(cudaFreeArray(array), cudaSuccess);
  cudaGetLastError();
}

TEST(Memory, ThreadsFreeEachOthersBlocks) {
  constexpr size_t kThreads = 256, kBlocks = 50;
  std::vector<std::vector<void*>> blocks(kThreads, std::vector<void*>(kBlocks));
  const auto on_all = [](auto work) {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
  };
  std::atomic<int> errors{0};
  on_all([&](size_t t) {
    for (void*& pointer : blocks[t]) errors += cudaMalloc(&pointer, 700) != cudaSuccess;
  });
  on_all([&](size_t t) {
    for (void* pointer : blocks[(t + 1) % kThreads]) errors += cudaFree(pointer) != cudaSuccess;
  });
  EXPECT_EQ(errors, 0);
  size_t available = 0, total = 0;
  cudaMemGetInfo(&available, &total);
  EXPECT_EQ(available, total);
}

volatile std::sig_atomic_t frees_in_handler = 0;

void free_in_handler(int) {
  void* pointer = nullptr;
  if (cudaMalloc(&pointer, 100) != cudaSuccess || cudaFree(pointer) != cudaSuccess) return;
  frees_in_handler = frees_in_handler + 1;
}

TEST(Memory, ASignalHandlerMayFree) {
  struct sigaction action{}, before{};
  action.sa_handler = free_in_handler;
  sigaction(SIGALRM, &action, &before);
  const itimerval every{{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &every, nullptr);
  int refused = 0;
  while (frees_in_handler < 100) refused += cudaFree(allocate(3000)) != cudaSuccess ? 1 : 0;
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(refused, 0);
}

} // namespace
