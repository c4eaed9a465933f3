// SPDX-License-Identifier: Apache-2.0
// Memory that is freed when CUDA does not take it: in a host callback, and after main, when CUDA has begun to unload. A
// static runtime refuses both by itself.
//
// run: callback
// expect-shared: error free-in-callback count=1 api=cudaFree stacks="freed here"@done:LINE(in-callback),"allocated here"@main:LINE(alloc)
// expect-shared: error leak count=1 bytes=4096 stacks="allocated here"@main:LINE(alloc)
// expect-static: error leak count=1 bytes=4096 message="may have tried to free it" stacks="allocated here"@main:LINE(alloc)
// not-checked-static: free-in-callback
// run: late
// device: gpu
// expect-static: error leak count=1 bytes=4096 stacks="allocated here"@main:LINE(alloc)
// expect-shared: note late count=1 api=cudaFree stacks="freed too late here"@~Cache:LINE(late),"allocated here"@main:LINE(alloc)
// run: in-time
// expect: clean
#include "answers.h"

static struct Cache {
  void* data = nullptr;
  void drop()
  {
    CHECK(cudaFree(data));
    data = nullptr;
  }
  ~Cache()
  {
    if (data != nullptr)
      (void)cudaFree(data); // @late
  }
} cache;

static void done(void* block)
{
  ANSWERS(cudaErrorNotPermitted, cudaFree(block)); // @in-callback
}

int main(int argc, char** argv)
{
  void* block = nullptr;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&block, 4096)); // @alloc
  TOUCH(block, 4096);
  if (started_with(argc, argv, "callback")) {
    CHECK(cudaLaunchHostFunc(stream, done, block));
    CHECK(cudaStreamSynchronize(stream));
  } else {
    cache.data = block;
  }
  if (started_with(argc, argv, "in-time"))
    cache.drop();
  CHECK(cudaStreamDestroy(stream));
  return 0;
}
