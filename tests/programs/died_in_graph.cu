// SPDX-License-Identifier: Apache-2.0
// The process dies in the launch of a graph that copies to or from pinned memory which was freed: the simulated device
// makes such copies itself, and the address is no longer mapped. The finding names the free.
//
// unlike-fenced: no block is fenced where the process dies
// run: to
// device: simulated
// exit: signal 11
// expect: error use-after-free count=1 api=cudaGraphLaunch message="The graph that is launched copies to" stacks="graph launched here"@launch:LINE(launch),"captured here"@to_host:LINE(to),"freed here"@main:LINE(free),"allocated here"@main:LINE(pinned)
// expect: note unfinished-call count=1 api=cudaGraphLaunch stacks="called here"@launch:LINE(launch)
// not-checked: leak
// run: from
// device: simulated
// exit: signal 11
// expect: error use-after-free count=1 api=cudaGraphLaunch message="The graph that is launched copies from" stacks="graph launched here"@launch:LINE(launch),"captured here"@from_host:LINE(from),"freed here"@main:LINE(free),"allocated here"@main:LINE(pinned)
// expect: note unfinished-call count=1 api=cudaGraphLaunch stacks="called here"@launch:LINE(launch)
// not-checked: leak
// run: copied
// device: simulated
// exit: signal 11
// expect: error use-after-free count=1 api=cudaMemcpyAsync message="writes 4.0 MiB to" stacks="copied here"@main:LINE(copy),"freed here"@main:LINE(free),"allocated here"@main:LINE(pinned)
// expect: note unfinished-call count=1 api=cudaMemcpyAsync stacks="called here"@main:LINE(copy)
// not-checked: leak
// run:
// expect: clean
#include "answers.h"

constexpr size_t kBytes = 4 << 20;

static void launch(cudaGraphExec_t exec, cudaStream_t stream)
{
  CHECK(cudaGraphLaunch(exec, stream)); // @launch
  CHECK(cudaStreamSynchronize(stream));
}

static void to_host(void* pinned, const void* memory, cudaStream_t stream)
{
  CHECK(cudaMemcpyAsync(pinned, memory, kBytes, cudaMemcpyDeviceToHost, stream)); // @to
}

static void from_host(void* memory, const void* pinned, cudaStream_t stream)
{
  CHECK(cudaMemcpyAsync(memory, pinned, kBytes, cudaMemcpyHostToDevice, stream)); // @from
}

int main(int argc, char** argv)
{
  void *memory = nullptr, *pinned = nullptr;
  CHECK(cudaMalloc(&memory, kBytes));
  TOUCH(memory, kBytes);
  CHECK(cudaMallocHost(&pinned, kBytes)); // @pinned
  std::memset(pinned, 0, kBytes);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  if (started_with(argc, argv, "from"))
    from_host(memory, pinned, stream);
  else
    to_host(pinned, memory, stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  launch(exec, stream);
  if (!started_with(argc, argv, "")) {
    CHECK(cudaFreeHost(pinned)); // @free
    if (started_with(argc, argv, "copied"))
      (void)cudaMemcpyAsync(pinned, memory, kBytes, cudaMemcpyDeviceToHost, stream); // @copy
    launch(exec, stream);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(memory));
  return 0;
}
