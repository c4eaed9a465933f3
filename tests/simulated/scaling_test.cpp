// SPDX-License-Identifier: Apache-2.0
// Four times as many objects must not take the simulated driver much longer than four times. What
// is measured is the processor's time of this thread: other programs of the machine do not count.
#include "cuda_support.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

namespace {

double seconds_of(const std::function<void(int)>& work, int count) {
  timespec begin{}, end{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  work(count);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return static_cast<double>(end.tv_sec - begin.tv_sec) +
         1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
}

// Linear is 4, quadratic 16. Caches that are too small for more cost some.
void expect_linear(const std::function<void(int)>& work, int count) {
  cudaFree(nullptr);
  double best = 1e9;
  for (int attempt = 0; attempt < 4 && best > 8; ++attempt) {
    const double few = seconds_of(work, count), many = seconds_of(work, 4 * count);
    best = std::min(best, many / std::max(few, 1e-3));
  }
  EXPECT_LT(best, 8);
}

constexpr char kPtx[] = R"(
.version 8.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 variable = 7;
.visible .entry nothing()
{
	ret;
}
)";

template <cudaError_t (*kAllocate)(void**, size_t), cudaError_t (*kFree)(void*)>
void allocate_and_free(int count) {
  std::vector<void*> blocks(static_cast<size_t>(count));
  for (void*& block : blocks) ASSERT_EQ(kAllocate(&block, 64), cudaSuccess);
  for (void* block : blocks) ASSERT_EQ(kFree(block), cudaSuccess);
}

cudaError_t allocate_managed(void** block, size_t bytes) {
  return cudaMallocManaged(block, bytes, cudaMemAttachGlobal);
}
cudaError_t allocate_pinned(void** block, size_t bytes) { return cudaMallocHost(block, bytes); }
cudaError_t allocate_ordered(void** block, size_t bytes) {
  return cudaMallocAsync(block, bytes, nullptr);
}
cudaError_t free_ordered(void* block) { return cudaFreeAsync(block, nullptr); }

TEST(Scaling, DeviceMemory) { expect_linear(allocate_and_free<cudaMalloc, cudaFree>, 20000); }
TEST(Scaling, StreamOrderedMemory) {
  expect_linear(allocate_and_free<allocate_ordered, free_ordered>, 20000);
}
TEST(Scaling, ManagedMemory) {
  expect_linear(allocate_and_free<allocate_managed, cudaFree>, 20000);
}
// More than a process has mappings.
TEST(Scaling, PinnedMemory) {
  expect_linear(allocate_and_free<allocate_pinned, cudaFreeHost>, 20000);
}

TEST(Scaling, PinnedMemoryThatIsFreedInAnyOrder) {
  std::vector<void*> blocks(80000);
  for (void*& block : blocks) ASSERT_EQ(cudaMallocHost(&block, 64), cudaSuccess);
  for (size_t first : {size_t{0}, size_t{1}}) { // each second one is a hole in a mapping
    for (size_t i = first; i < blocks.size(); i += 2)
      ASSERT_EQ(cudaFreeHost(blocks[i]), cudaSuccess);
  }
  void* block = nullptr;
  EXPECT_EQ(cudaMallocHost(&block, 64), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(block), cudaSuccess);
}

TEST(Scaling, RegisteredMemory) {
  static std::vector<char> memory(80000 * 64);
  expect_linear(
    [](int count) {
      for (int i = 0; i < count; ++i)
        ASSERT_EQ(cudaHostRegister(&memory[static_cast<size_t>(i) * 64], 64, 0), cudaSuccess);
      for (int i = 0; i < count; ++i)
        ASSERT_EQ(cudaHostUnregister(&memory[static_cast<size_t>(i) * 64]), cudaSuccess);
    },
    20000);
}

TEST(Scaling, Modules) {
  const auto load = DRIVER_FUNCTION(cuModuleLoadData);
  const auto unload = DRIVER_FUNCTION(cuModuleUnload);
  const auto get_function = DRIVER_FUNCTION(cuModuleGetFunction);
  const auto get_global = DRIVER_FUNCTION(cuModuleGetGlobal);
  const auto launch = DRIVER_FUNCTION(cuLaunchKernel);
  expect_linear(
    [&](int count) {
      std::vector<CUmodule> modules(static_cast<size_t>(count));
      for (CUmodule& module : modules) {
        CUfunction function = nullptr;
        CUdeviceptr variable = 0;
        ASSERT_EQ(load(&module, kPtx), CUDA_SUCCESS);
        ASSERT_EQ(get_function(&function, module, "nothing"), CUDA_SUCCESS);
        ASSERT_EQ(get_global(&variable, nullptr, module, "variable"), CUDA_SUCCESS);
        ASSERT_EQ(launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
      }
      for (CUmodule module : modules) ASSERT_EQ(unload(module), CUDA_SUCCESS);
    },
    1000);
}

TEST(Scaling, StreamsAndEvents) {
  expect_linear(
    [](int count) {
      std::vector<cudaStream_t> streams(static_cast<size_t>(count));
      std::vector<cudaEvent_t> events(streams.size());
      for (size_t i = 0; i < streams.size(); ++i) {
        ASSERT_EQ(cudaStreamCreate(&streams[i]), cudaSuccess);
        ASSERT_EQ(cudaEventCreate(&events[i]), cudaSuccess);
        ASSERT_EQ(cudaEventRecord(events[i], streams[i]), cudaSuccess);
      }
      for (cudaEvent_t event : events) ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
      for (cudaStream_t stream : streams) ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    },
    10000);
}

TEST(Scaling, GraphNodes) {
  expect_linear(
    [](int count) {
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t executable = nullptr;
      cudaGraphNode_t last = nullptr;
      ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
      for (int i = 0; i < count; ++i) {
        const cudaGraphNode_t before = last;
        ASSERT_EQ(cudaGraphAddEmptyNode(&last, graph, &before, i == 0 ? 0 : 1), cudaSuccess);
      }
      ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
      ASSERT_EQ(cudaGraphLaunch(executable, nullptr), cudaSuccess);
      ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
      ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    },
    10000);
}

TEST(Scaling, Arrays) {
  expect_linear(
    [](int count) {
      std::vector<cudaArray_t> arrays(static_cast<size_t>(count));
      const cudaChannelFormatDesc format{32, 0, 0, 0, cudaChannelFormatKindFloat};
      for (cudaArray_t& array : arrays)
        ASSERT_EQ(cudaMallocArray(&array, &format, 8, 8, 0), cudaSuccess);
      for (cudaArray_t array : arrays) ASSERT_EQ(cudaFreeArray(array), cudaSuccess);
    },
    10000);
}

} // namespace
