// SPDX-License-Identifier: Apache-2.0
// Unit tests of the simulated device's streams, events, host functions, capture, graphs and
// contexts. Needs LD_LIBRARY_PATH to name the simulated libraries. Kernels are tested by
// nvcc_program.cu.
#include "cuda_support.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

struct CapturedStream {
  CapturedStream() { cudaStreamCreate(&stream); }
  ~CapturedStream() { cudaStreamDestroy(stream); }
  cudaStream_t stream = nullptr;
};

TEST(Stream, HostFunctionsRunInOrderOnAnotherThread) {
  struct Log {
    std::thread::id thread;
    int count = 0;
  } log;
  const auto step = [](void* argument) {
    auto* l = static_cast<Log*>(argument);
    l->thread = std::this_thread::get_id();
    ++l->count;
  };
  for (int i = 0; i < 10; ++i) ASSERT_EQ(cudaLaunchHostFunc(nullptr, step, &log), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(log.count, 10);
  EXPECT_NE(log.thread, std::this_thread::get_id());
}

TEST(Stream, LaterWorkWaitsForAHostFunction) {
  char source = 'a';
  char* target = static_cast<char*>(allocate(1));
  const auto slow = [](void* argument) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    *static_cast<char*>(argument) = 'b';
  };
  ASSERT_EQ(cudaLaunchHostFunc(nullptr, slow, &source), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  ASSERT_EQ(cudaMemcpyAsync(target, &source, 1, cudaMemcpyHostToDevice, nullptr), cudaSuccess);
  char back = 0;
  ASSERT_EQ(cudaMemcpy(&back, target, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back, 'b');
  cudaFree(target);
  cudaGetLastError();
}

TEST(Stream, ADestroyedHandleIsRefused) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST(Stream, EventsMeasureTime) {
  cudaEvent_t start = nullptr, end = nullptr;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  cudaEventRecord(start, nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  cudaEventRecord(end, nullptr);
  float milliseconds = 0;
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
  EXPECT_GE(milliseconds, 4.f);
  cudaEventDestroy(start);
  cudaEventDestroy(end);
}

TEST(Capture, ReplaysCopiesSetsAndHostFunctions) {
  CapturedStream captured;
  char* memory = static_cast<char*>(allocate(16));
  char back[16] = {};
  int calls = 0;
  ASSERT_EQ(cudaStreamBeginCapture(captured.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(memory, 5, 16, captured.stream), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(back, memory, 16, cudaMemcpyDeviceToHost, captured.stream),
            cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(
              captured.stream, [](void* n) { ++*static_cast<int*>(n); }, &calls),
            cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(captured.stream, &graph), cudaSuccess);
  EXPECT_EQ(back[0], 0) << "nothing runs while capturing";
  size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 3u);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(cudaGraphLaunch(exec, captured.stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(captured.stream), cudaSuccess);
  EXPECT_EQ(back[15], 5);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  cudaFree(memory);
}

TEST(Capture, AllocationNodesLiveFromLaunchToFree) {
  CapturedStream captured;
  void* memory = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(captured.stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&memory, 1000, captured.stream), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(memory, 1, 1000, captured.stream), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(captured.stream, &graph), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue) << "not launched yet";
  ASSERT_EQ(cudaGraphLaunch(exec, captured.stream), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, captured.stream), cudaErrorInvalidValue)
    << "not freed since the last launch";
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphLaunch(exec, captured.stream), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(memory, captured.stream), cudaSuccess);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaGetLastError();
}

TEST(Batch, CopiesInThreeDimensionsOneByOne) {
  CapturedStream own;
  char* device = static_cast<char*>(allocate(4 * 8 * 2));
  char host[4 * 3 * 2], back[4 * 8 * 2] = {};
  std::memset(host, 'h', sizeof host);
  cudaMemset(device, '.', 4 * 8 * 2);
  cudaMemcpy3DBatchOp op{};
  op.src.type = cudaMemcpyOperandTypePointer;
  op.src.op.ptr = {host, 3, 4, {}};
  op.dst.type = cudaMemcpyOperandTypePointer;
  op.dst.op.ptr = {device, 8, 4, {}};
  op.extent = {3, 4, 2};
  op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  ASSERT_EQ(cudaMemcpy3DBatchAsync(1, &op, 0, own.stream), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(back, device, sizeof back, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(std::string(back, 16), "hhh.....hhh.....");
  op.extent.depth = 3;
  EXPECT_EQ(cudaMemcpy3DBatchAsync(1, &op, 0, own.stream), cudaErrorInvalidValue) << "past the end";
  EXPECT_EQ(cudaMemcpy3DBatchAsync(1, &op, 0, nullptr), cudaErrorInvalidValue)
    << "the legacy stream takes none";
  cudaFree(device);
  cudaGetLastError();
}

TEST(Batch, PrefetchesManagedMemoryOnly) {
  CapturedStream own;
  void* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 1000, cudaMemAttachGlobal), cudaSuccess);
  void* addresses[] = {managed};
  size_t sizes[] = {1000}, first[] = {0};
  cudaMemLocation locations[] = {{cudaMemLocationTypeDevice, 0}};
  EXPECT_EQ(cudaMemPrefetchBatchAsync(addresses, sizes, 1, locations, first, 1, 0, own.stream),
            cudaSuccess);
  EXPECT_EQ(cudaMemDiscardBatchAsync(addresses, sizes, 1, 0, own.stream), cudaSuccess);
  sizes[0] = 1001;
  EXPECT_EQ(cudaMemPrefetchBatchAsync(addresses, sizes, 1, locations, first, 1, 0, own.stream),
            cudaErrorInvalidValue);
  cudaFree(managed);
  cudaGetLastError();
}

TEST(Capture, AnEventJoinsAnotherStream) {
  CapturedStream one, two;
  cudaEvent_t fork = nullptr, join = nullptr;
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  void* memory = allocate(16);
  ASSERT_EQ(cudaStreamBeginCapture(one.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(memory, 1, 4, one.stream), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork, one.stream), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(two.stream, fork, 0), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(memory, 2, 4, two.stream), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(join, two.stream), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(one.stream, join, 0), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(one.stream, &graph), cudaSuccess);
  size_t edges = 0;
  ASSERT_EQ(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges), cudaSuccess);
  EXPECT_EQ(edges, 1u);
  cudaGraphDestroy(graph);
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
  cudaFree(memory);
}

TEST(Capture, ForbiddenCallsInvalidateIt) {
  CapturedStream captured;
  ASSERT_EQ(cudaStreamBeginCapture(captured.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 16), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(captured.stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  cudaGetLastError();
}

TEST(Context, ResetFreesMemoryButNotPools) {
  void* plain = allocate(1000);
  void* pooled = nullptr;
  ASSERT_EQ(cudaMallocAsync(&pooled, 1000, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaFree(plain), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pooled), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(Context, PointerAttributesNameTheKinds) {
  void *device = allocate(64), *pinned = nullptr, *managed = nullptr;
  int local = 0;
  cudaMallocHost(&pinned, 64);
  cudaMallocManaged(&managed, 64, cudaMemAttachGlobal);
  cudaPointerAttributes attributes{};
  const auto type_of = [&](const void* pointer) {
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
    return attributes.type;
  };
  EXPECT_EQ(type_of(device), cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  EXPECT_EQ(type_of(pinned), cudaMemoryTypeHost);
  EXPECT_EQ(type_of(managed), cudaMemoryTypeManaged);
  EXPECT_EQ(type_of(&local), cudaMemoryTypeUnregistered);
  cudaFree(device);
  cudaFreeHost(pinned);
  cudaFree(managed);
}

TEST(Staged, AbortHappensInsideTheChosenCall) {
  const auto run = [] {
    setenv("LD_PRELOAD", std::getenv("GMT_STAGED_DEVICE"), 1);
    setenv("STAGED_ABORT_IN", "cuMemAlloc_v2:2", 1);
    setenv("STAGED_ABORT_SIGNAL", "9", 1);
    execl("/proc/self/exe", "stream_test", "--gtest_filter=*TwoAllocations",
          static_cast<char*>(nullptr));
  };
  EXPECT_EXIT(run(), testing::KilledBySignal(SIGKILL), "");
}

TEST(Helper, TwoAllocations) {
  cudaFree(allocate(1));
  cudaFree(allocate(1));
}

} // namespace
