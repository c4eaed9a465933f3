// SPDX-License-Identifier: Apache-2.0
// CUPTI loses the kernels of a graph that is launched while it measures, so none may be; every element says whether all of
// them ran. A launch of a graph counts as one of each of its kernels all the same: what the only launch by itself wastes is
// reported for all. The kernels come from a capture (captured), from nodes made by hand (nodes), from a child graph that is there
// twice (child), or the graph is given others (updated). One is uploaded right behind a launch that is measured (uploaded): the
// upload waits for that window's end, or the graph would fault later. A disabled node makes the graph unknown (disabled).
//
// run: captured
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 message="in 1 of 13 launches" line=LINE(load)
// run: nodes
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 message="in 1 of 9 launches" line=LINE(load)
// run: child
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 message="in 1 of 25 launches" line=LINE(load)
// run: updated
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 message="in 1 of 13 launches" line=LINE(load)
// run: uploaded
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 message="in 2 of 14 launches" line=LINE(load)
// run: disabled
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 message="in its only launch" line=LINE(load)
// not-checked: memory accesses
// run: captured and-counted
// device: gpu
// options: --counters --coalescing-launches=all
// expect: warning uncoalesced ratio=8 message="in 1 of 13 launches" line=LINE(load)
#include <cuda_runtime.h>

#include "answers.h"

constexpr unsigned kThreads = 256, kBlocks = 4096, kStride = 32, kLaunches = 3, kReplays = 4;

__global__ void add_far(const int* from, int* to)
{
  unsigned i = blockIdx.x * kThreads + threadIdx.x;
  int far = from[i % (kBlocks * kThreads / kStride) * kStride]; // @load
  to[i] += far;
}

__global__ void add_near(const int* from, int* to)
{
  unsigned i = blockIdx.x * kThreads + threadIdx.x;
  to[i] += from[i];
}

struct Arrays {
  int *from, *to;
  cudaStream_t stream;
};

static cudaGraph_t capture(const Arrays& a, void (*kernel)(const int*, int*))
{
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(a.stream, cudaStreamCaptureModeGlobal));
  for (unsigned i = 0; i < kLaunches; ++i)
    kernel<<<kBlocks, kThreads, 0, a.stream>>>(a.from, a.to);
  CHECK(cudaStreamEndCapture(a.stream, &graph));
  return graph;
}

static void add_node(cudaGraph_t graph, cudaGraphNode_t* node, Arrays& a, void (*kernel)(const int*, int*))
{
  void* arguments[] = {&a.from, &a.to};
  cudaKernelNodeParams p{};
  p.func = reinterpret_cast<void*>(kernel);
  p.gridDim = dim3(kBlocks);
  p.blockDim = dim3(kThreads);
  p.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(node, graph, *node != nullptr ? node : nullptr, *node != nullptr, &p));
}

// Two nodes, one after the other.
static cudaGraph_t make_of_nodes(Arrays& a, cudaGraphNode_t* first)
{
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  *first = nullptr;
  add_node(graph, first, a, add_far);
  cudaGraphNode_t second = *first;
  add_node(graph, &second, a, add_far);
  return graph;
}

static cudaGraph_t put_in_twice(cudaGraph_t inner)
{
  cudaGraph_t outer = nullptr;
  cudaGraphNode_t first = nullptr, second = nullptr;
  CHECK(cudaGraphCreate(&outer, 0));
  CHECK(cudaGraphAddChildGraphNode(&first, outer, nullptr, 0, inner));
  CHECK(cudaGraphAddChildGraphNode(&second, outer, &first, 1, inner));
  return outer;
}

__global__ void count_wrong(const int* values, int right, unsigned* wrong)
{
  if (values[blockIdx.x * kThreads + threadIdx.x] != right) atomicAdd(wrong, 1u);
}

static void check(const Arrays& a, int launches)
{
  constexpr int kEach = 0x01010101; // what `from` is filled with
  unsigned *wrong = nullptr, found = 0;
  CHECK(cudaMalloc(&wrong, sizeof *wrong));
  CHECK(cudaMemset(wrong, 0, sizeof *wrong));
  count_wrong<<<kBlocks, kThreads>>>(a.to, launches * kEach, wrong);
  CHECK(cudaMemcpy(&found, wrong, sizeof found, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(wrong));
  ANSWERS(0, found);
}

int main(int argc, char** argv)
{
  Arrays a{};
  const size_t bytes = sizeof(int) * kBlocks * kThreads;
  CHECK(cudaMalloc(&a.from, bytes));
  CHECK(cudaMalloc(&a.to, bytes));
  CHECK(cudaMemset(a.from, 1, bytes));
  CHECK(cudaMemset(a.to, 0, bytes));
  CHECK(cudaStreamCreate(&a.stream));
  add_far<<<kBlocks, kThreads, 0, a.stream>>>(a.from, a.to);
  const bool disabled = started_with(argc, argv, "disabled"), updated = started_with(argc, argv, "updated");
  cudaGraphNode_t first = nullptr;
  cudaGraph_t graph = disabled || started_with(argc, argv, "nodes") ? make_of_nodes(a, &first)
                                                                     : capture(a, updated ? add_near : add_far);
  if (started_with(argc, argv, "child")) graph = put_in_twice(graph);
  cudaGraphExec_t ready = nullptr;
  CHECK(cudaGraphInstantiateWithFlags(&ready, graph, 0));
  if (updated) {
    cudaGraphExecUpdateResultInfo info{};
    CHECK(cudaGraphExecUpdate(ready, capture(a, add_far), &info));
  }
  const bool uploaded = started_with(argc, argv, "uploaded");
  if (uploaded) {
    add_far<<<kBlocks, kThreads, 0, a.stream>>>(a.from, a.to);
    CHECK(cudaGraphUpload(ready, a.stream));
  }
  if (disabled) CHECK(cudaGraphNodeSetEnabled(ready, first, 0));
  for (unsigned i = 0; i < kReplays; ++i) {
    CHECK(cudaGraphLaunch(ready, a.stream));
    CHECK(cudaStreamSynchronize(a.stream));
  }
  check(a, (uploaded ? 2 : 1) + static_cast<int>(kReplays) * (disabled                            ? 1
                                             : started_with(argc, argv, "nodes") ? 2
                                             : started_with(argc, argv, "child") ? 2 * kLaunches
                                                                                 : kLaunches));
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaStreamDestroy(a.stream));
  CHECK(cudaFree(a.from));
  CHECK(cudaFree(a.to));
}
