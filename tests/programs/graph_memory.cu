// SPDX-License-Identifier: Apache-2.0
// A graph that allocates: its memory lives from a launch to a free outside the graph, at the same address every time.
// A free node in the graph ends it within the launch, and with auto-free the next launch does.
//
// run:
// expect: clean
// run: twice
// expect: error double-free count=1 api=cudaFree stacks="allocated here"@capture:LINE(capture),"first freed here"@free_twice:LINE(first),"freed again here"@free_twice:LINE(again)
// run: forgotten
// expect: error leak bytes=4096 count=1 stacks="allocated here"@capture:LINE(capture)
// run: relaunch
// expect: warning api-error count=1 api=cudaGraphLaunch message="has not been freed" stacks="failed here"@launch_again:LINE(again-launch),"allocated here"@capture:LINE(capture)
// run: free-node
// expect: clean
// run: auto-free
// expect: clean
#include "answers.h"

constexpr size_t kBytes = 4096;

struct Captured {
  cudaGraphExec_t exec = nullptr;
  void* block = nullptr;
};

static Captured capture(cudaStream_t stream, bool with_free, bool auto_free)
{
  Captured made;
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&made.block, kBytes, stream)); // @capture
  CHECK(cudaMemsetAsync(made.block, 0, kBytes, stream));
  if (with_free)
    CHECK(cudaFreeAsync(made.block, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiateWithFlags(&made.exec, graph, auto_free ? cudaGraphInstantiateFlagAutoFreeOnLaunch : 0));
  CHECK(cudaGraphDestroy(graph));
  return made;
}

static void launch(const Captured& captured, cudaStream_t stream)
{
  CHECK(cudaGraphLaunch(captured.exec, stream));
  CHECK(cudaStreamSynchronize(stream));
}

static void free_twice(void* block)
{
  CHECK(cudaFree(block)); // @first
  ANSWERS(cudaErrorInvalidValue, cudaFree(block)); // @again
}

static void launch_again(const Captured& captured, cudaStream_t stream)
{
  ANSWERS(cudaErrorInvalidValue, cudaGraphLaunch(captured.exec, stream)); // @again-launch
  CHECK(cudaFreeAsync(captured.block, stream));
  CHECK(cudaStreamSynchronize(stream));
}

int main(int argc, char** argv)
{
  bool free_node = started_with(argc, argv, "free-node");
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  bool auto_free = started_with(argc, argv, "auto-free");
  Captured captured = capture(stream, free_node, auto_free);
  launch(captured, stream);
  if (free_node) {
    launch(captured, stream);
  } else if (auto_free) {
    launch(captured, stream);
    CHECK(cudaFree(captured.block));
  } else if (started_with(argc, argv, "twice")) {
    free_twice(captured.block);
  } else if (started_with(argc, argv, "relaunch")) {
    launch_again(captured, stream);
  } else if (!started_with(argc, argv, "forgotten")) {
    CHECK(cudaFreeAsync(captured.block, stream));
    launch(captured, stream);
    CHECK(cudaFree(captured.block));
  }
  CHECK(cudaGraphExecDestroy(captured.exec));
  CHECK(cudaStreamDestroy(stream));
  return 0;
}
