// SPDX-License-Identifier: Apache-2.0
// A captured graph of two kernels, the second of which stores past the end of its memory. CUDA says
// nothing, since the store stays in the same page of 2 MiB. With --guard the GPU faults while the
// graph runs, and the report names the graph's launch and the call that captured the kernel. With
// "clean" the kernel is given the right count.
//
// unlike-fenced: it has runs of its own with --guard
// run: plain
// expect-real: clean
// expect-simulated: error kernel-out-of-bounds count=64 message="right behind the end of 4.0 KiB" stacks="accessed here"@fill:LINE(store),"graph launched here"@main:LINE(launch),"captured here"@capture:LINE(second),"allocated here"@main:LINE(values)
// run: fenced
// options: --guard
// exit-simulated: 3
// exit-real: signal 6
// not-checked: leak
// expect: error kernel-out-of-bounds message="the end of 4.0 KiB" stacks="accessed here"@fill:LINE(store),"graph launched here"@main:LINE(launch),"captured here"@capture:LINE(second),"allocated here"@main:LINE(values)
// run: clean
// options: --guard
// expect: clean
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#include "check.h"

constexpr int kCount = 1024;

__global__ void clear(int* values)
{
  values[blockIdx.x * blockDim.x + threadIdx.x] = 0;
}

__global__ void fill(int* values, int count)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = i; // @store
}

[[gnu::noinline]] static cudaGraph_t capture(cudaStream_t stream, int* values, int count)
{
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  clear<<<kCount / 128, 128, 0, stream>>>(values);
  fill<<<kCount / 64 + 1, 64, 0, stream>>>(values, count); // @second
  CHECK(cudaStreamEndCapture(stream, &graph));
  return graph;
}

int main(int count_of_words, char** words)
{
  const bool clean = count_of_words > 1 && std::strcmp(words[1], "clean") == 0;
  int* values = nullptr;
  cudaStream_t stream = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaMalloc(&values, kCount * sizeof(int))); // @values
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph = capture(stream, values, clean ? kCount : kCount + 64);
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, stream)); // @launch
  CHECK(cudaStreamSynchronize(stream));
  int last = 0;
  CHECK(cudaMemcpy(&last, values + kCount - 1, sizeof last, cudaMemcpyDeviceToHost));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(values));
  std::printf("%d\n", last);
}
