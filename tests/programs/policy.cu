// SPDX-License-Identifier: Apache-2.0
// Rules for CI on a program without a mistake: a set-up, steps that take memory from CUDA's pool, one captured graph. Limits are each
// process's own; a rule that any process breaks is broken.
//
// run:
// expect: clean
// run: kept
// options: check --policy "no-direct-malloc after ready" --policy "no-alloc-in copy" --policy "max-device-bytes 8M"
// expect: clean
// run: direct
// options: check --policy "no-direct-malloc after ready"
// expect: error policy count=2 bytes=2097152 api=cudaMalloc message="bypasses the pool" stacks="allocated here"@step:LINE(direct)
// run: inside
// options: check --policy "no-alloc-in step*"
// expect: error policy count=2 api=cudaMallocAsync message="'no-alloc-in step*'" range="step" stacks="allocated here"@step:LINE(pooled)
// run: captured
// options: check --policy no-alloc-during-capture
// expect: error policy count=1 bytes=4096 api=cudaMallocAsync message="a stream was being captured" stacks="allocated here"@capture:LINE(captured)
// run: bytes
// options: check --policy "max-device-bytes 1M"
// expect: error policy count=1 api=cudaMallocAsync message="limit of 1.0 MiB" range="step" stacks="allocated here"@step:LINE(pooled)
// run: allocations
// options: check --policy "max-allocations 2"
// expect: error policy count=1 message="there were 4" range="step" stacks="allocated here"@step:LINE(pooled)
// run: two-processes
// options: check --policy "max-allocations 4" --policy "max-device-bytes 3M"
// expect: clean
// processes: 2
// run: child-direct
// options: check --policy "no-direct-malloc after ready"
// expect: error policy count=2 api=cudaMalloc message="bypasses the pool" stacks="allocated here"@step:LINE(direct)
// processes: 2
// run: never
// options: check --policy "no-alloc-in backward" --policy "no-direct-malloc after warm"
// expect: clean
// not-checked: policy
#include "answers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

constexpr size_t kBytes = 1 << 20;

static void step(cudaStream_t stream, bool direct)
{
  nvtxRangePushA("step");
  void* memory = nullptr;
  if (direct) {
    CHECK(cudaMalloc(&memory, kBytes)); // @direct
  } else {
    CHECK(cudaMallocAsync(&memory, kBytes, stream)); // @pooled
  }
  nvtxRangePushA("copy");
  CHECK(cudaMemsetAsync(memory, 0, kBytes, stream));
  nvtxRangePop();
  CHECK(direct ? cudaFree(memory) : cudaFreeAsync(memory, stream));
  nvtxRangePop();
}

static void capture(cudaStream_t stream)
{
  void* scratch = nullptr;
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&scratch, 4096, stream)); // @captured
  CHECK(cudaMemsetAsync(scratch, 0, 4096, stream));
  CHECK(cudaFreeAsync(scratch, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphDestroy(graph));
}

int main(int argc, char** argv)
{
  const bool child_direct = started_with(argc, argv, "child-direct");
  pid_t child = -1;
  if (child_direct || started_with(argc, argv, "two-processes")) child = fork(); // before the first CUDA call
  cudaStream_t stream;
  void* workspace = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&workspace, kBytes));
  CHECK(cudaMemset(workspace, 0, kBytes));
  nvtxMarkA("ready");
  for (int i = 0; i < 2; ++i)
    step(stream, started_with(argc, argv, "direct") || (child_direct && child == 0));
  capture(stream);
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(workspace));
  int status = 0;
  if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) return 4;
  return 0;
}
