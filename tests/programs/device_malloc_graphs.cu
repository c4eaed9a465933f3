// SPDX-License-Identifier: Apache-2.0
// A kernel of a graph leaks in the second of three launches of that graph, which are made by three calls. Its grid has one number in
// all of them. waited: the host waits for each launch and rests, so that the clocks tell which it was; at-once: it does neither, and
// all three are possible.
//
// device hooks: all calls
// run: waited
// expect-simulated: error device-heap-leak bytes=64 count=1 stacks="allocated here"@leak_in_second:LINE(leak)
// expect-real: error device-heap-leak bytes=64 count=1 message="in launch 2 of its graph" stacks="allocated here"@leak_in_second:LINE(leak),"graph launched here"@second:LINE(second),"captured here"@capture:LINE(captured)
// run: at-once
// expect-simulated: error device-heap-leak bytes=64 count=1 stacks="allocated here"@leak_in_second:LINE(leak)
// expect-real: error device-heap-leak bytes=64 count=1 message="in one of launches 1 to 3 of its graph" stacks="allocated here"@leak_in_second:LINE(leak),"graph first launched here"@first:LINE(first),"graph last launched here"@third:LINE(third),"captured here"@capture:LINE(captured)
#include "answers.h"

#include <chrono>
#include <thread>

__device__ void* last;
__device__ unsigned launches;

__global__ void leak_in_second()
{
  void* const own = malloc(64); // @leak
  if (++launches == 2)
    last = own;
  else
    free(own);
}

__attribute__((noinline)) static cudaGraphExec_t capture(cudaStream_t stream)
{
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  leak_in_second<<<1, 1, 0, stream>>>(); // @captured
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  return exec;
}

static void rest(cudaStream_t stream, bool wait)
{
  if (!wait)
    return;
  CHECK(cudaStreamSynchronize(stream));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

__attribute__((noinline)) static void first(cudaGraphExec_t exec, cudaStream_t stream, bool wait)
{
  CHECK(cudaGraphLaunch(exec, stream)); // @first
  rest(stream, wait);
}

__attribute__((noinline)) static void second(cudaGraphExec_t exec, cudaStream_t stream, bool wait)
{
  CHECK(cudaGraphLaunch(exec, stream)); // @second
  rest(stream, wait);
}

__attribute__((noinline)) static void third(cudaGraphExec_t exec, cudaStream_t stream, bool wait)
{
  CHECK(cudaGraphLaunch(exec, stream)); // @third
  rest(stream, wait);
}

int main(int argc, char** argv)
{
  const bool wait = started_with(argc, argv, "waited");
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  const cudaGraphExec_t exec = capture(stream);
  first(exec, stream, wait);
  second(exec, stream, wait);
  third(exec, stream, wait);
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaStreamDestroy(stream));
  return 0;
}
