// SPDX-License-Identifier: Apache-2.0
// A graph that frees its memory while nothing orders the free node and a kernel's, or that uses memory while nothing orders
// the use and the allocation node.
//
// run:
// expect: clean
// run: free-beside
// device: simulated
// expect: error stream-race count=1 line=LINE(launch) message="a free node of a graph on"
// run: use-beside
// device: simulated
// expect: error stream-race count=1 line=LINE(launch) message="Let the other node depend on the allocation node."
// run: captured
// device: simulated
// expect: error stream-race count=1 line=LINE(launch) message="Let the free node depend on the other."
#include "answers.h"

#include <string>

constexpr int kCount = 1024;

__global__ void set(int* to, int value) { to[blockIdx.x * blockDim.x + threadIdx.x] = value; }

static cudaGraph_t captured(cudaStream_t stream)
{
  cudaStream_t other = nullptr;
  cudaEvent_t allocated = nullptr, used = nullptr;
  cudaGraph_t graph = nullptr;
  int* block = nullptr;
  CHECK(cudaStreamCreate(&other));
  CHECK(cudaEventCreate(&allocated));
  CHECK(cudaEventCreate(&used));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&block, kCount * sizeof(int), stream));
  CHECK(cudaEventRecord(allocated, stream));
  CHECK(cudaStreamWaitEvent(other, allocated));
  set<<<kCount / 256, 256, 0, other>>>(block, 1);
  CHECK(cudaFreeAsync(block, stream)); // nothing orders it behind the kernel
  CHECK(cudaEventRecord(used, other));
  CHECK(cudaStreamWaitEvent(stream, used));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaEventDestroy(allocated));
  CHECK(cudaEventDestroy(used));
  CHECK(cudaStreamDestroy(other));
  return graph;
}

int main(int argc, char** argv)
{
  const std::string run = argc > 1 ? argv[1] : "";
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamCreate(&stream));
  if (run == "captured") {
    graph = captured(stream);
  } else {
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location = {cudaMemLocationTypeDevice, 0};
    memory.bytesize = kCount * sizeof(int);
    cudaGraphNode_t allocation, kernel, free;
    CHECK(cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &memory)); // @allocate
    int value = 1;
    void* arguments[] = {&memory.dptr, &value};
    cudaKernelNodeParams launch = {};
    launch.func = reinterpret_cast<void*>(set);
    launch.gridDim = dim3(kCount / 256);
    launch.blockDim = dim3(256);
    launch.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &allocation, run == "use-beside" ? 0 : 1, &launch));
    const cudaGraphNode_t before[] = {allocation, kernel};
    CHECK(cudaGraphAddMemFreeNode(&free, graph, before, run == "free-beside" ? 1 : 2, memory.dptr));
  }
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, stream)); // @launch
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}
