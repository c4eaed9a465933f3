// SPDX-License-Identifier: Apache-2.0
// Device memory that no call is ever given: freed, leaked, or alive while kernels ran; and memory that is used in a way
// that only one kind of call tells.
//
// run:
// expect: warning unused count=3 bytes=12288 message="12.0 KiB of device memory in 3 blocks allocated by cudaMalloc was never used: no copy, set, texture or kernel was given a pointer into it." stacks="allocated here"@make_blocks:LINE(blocks)
// run: leaked
// expect: warning unused count=1 bytes=4096 stacks="allocated here"@make:LINE(make)
// expect: error leak count=1 bytes=4096 stacks="allocated here"@make:LINE(make)
// run: array
// expect: warning unused count=1 message="of CUDA array memory allocated by cudaMallocArray was never used" stacks="allocated here"@main:LINE(array)
// run: kernel-elsewhere
// expect-real: note unused count=1 bytes=4096 message="though a kernel may have found one in memory" stacks="allocated here"@make:LINE(make)
// expect-simulated: silent
// run: kernel
// expect: silent
// run: unread
// env: GPUMEMTRACE_LAUNCH_ARGUMENTS=0
// expect: silent
// run: texture
// expect: silent
// run: host
// expect: silent
// run: start
// expect: silent
// run: storage
// expect: silent
// run: primed
// expect: silent
// run: failed
// exit: 7
// expect: note unused count=5 bytes=20480 message="The program ended with exit status 7: 20.0 KiB of device memory in 5 blocks from 3 places was never used" stacks="allocated here"@make_blocks:LINE(blocks),"allocated here"@make:LINE(make),"allocated here"@main:LINE(failed)
// expect: error leak count=1 stacks="allocated here"@main:LINE(failed)
// expect: error leak count=1 stacks="allocated here"@make:LINE(make)
// run: killed
// exit: signal SIGKILL
// expect: clean
// not-checked: leak
#include "answers.h"

#include <csignal>
#include <unistd.h>

constexpr size_t kBytes = 4096;

__global__ void look(const float*) {}

static float* make()
{
  float* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes)); // @make
  return block;
}

static void make_blocks()
{
  for (int i = 0; i < 3; ++i) {
    void* block = nullptr;
    CHECK(cudaMalloc(&block, kBytes)); // @blocks
    CHECK(cudaFree(block));
  }
}

static void texture(float* block)
{
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = block;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = kBytes;
  cudaTextureDesc description{};
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t object = 0;
  CHECK(cudaCreateTextureObject(&object, &resource, &description, nullptr));
  CHECK(cudaDestroyTextureObject(object));
}

// The host uses it without a call.
static void host()
{
  float *managed = nullptr, *pinned = nullptr;
  CHECK(cudaMallocManaged(&managed, kBytes));
  CHECK(cudaMallocHost(&pinned, kBytes));
  managed[0] = pinned[0] = 1.0f;
  CHECK(cudaFree(managed));
  CHECK(cudaFreeHost(pinned));
}

// A block of no use but that CUDA starts, and one that the pool grows with.
static void start()
{
  void* byte = nullptr;
  CHECK(cudaMalloc(&byte, 1));
  CHECK(cudaFree(byte));
}

// As CUB asks for temporary storage of which it has no need: without the byte its second call would be the first again.
static void storage()
{
  void *input = nullptr, *byte = nullptr;
  CHECK(cudaMalloc(&input, kBytes));
  TOUCH(input, kBytes);
  CHECK(cudaMalloc(&byte, 1));
  CHECK(cudaFree(byte));
  CHECK(cudaFree(input));
}

static void prime()
{
  void *large = nullptr, *block = nullptr;
  CHECK(cudaMallocAsync(&large, 64 << 20, nullptr));
  CHECK(cudaFreeAsync(large, nullptr));
  CHECK(cudaMallocAsync(&block, kBytes, nullptr));
  CHECK(cudaMemsetAsync(block, 0, kBytes, nullptr));
  CHECK(cudaFreeAsync(block, nullptr));
  CHECK(cudaDeviceSynchronize());
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "")) {
    make_blocks();
  } else if (started_with(argc, argv, "array")) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    CHECK(cudaMallocArray(&array, &format, 64, 64)); // @array
    CHECK(cudaFreeArray(array));
  } else if (started_with(argc, argv, "host")) {
    host();
  } else if (started_with(argc, argv, "start")) {
    start();
  } else if (started_with(argc, argv, "storage")) {
    storage();
  } else if (started_with(argc, argv, "primed")) {
    prime();
  } else if (started_with(argc, argv, "failed")) {
    make_blocks();
    make();
    void* block = nullptr;
    CHECK(cudaMalloc(&block, kBytes)); // @failed
    return 7;
  } else {
    float* block = make();
    if (started_with(argc, argv, "kernel"))
      look<<<1, 32>>>(block);
    if (started_with(argc, argv, "kernel-elsewhere") || started_with(argc, argv, "unread"))
      look<<<1, 32>>>(nullptr);
    if (started_with(argc, argv, "texture"))
      texture(block);
    if (started_with(argc, argv, "killed"))
      kill(getpid(), SIGKILL);
    if (!started_with(argc, argv, "leaked"))
      CHECK(cudaFree(block));
  }
  return 0;
}
