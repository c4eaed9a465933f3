// SPDX-License-Identifier: Apache-2.0
// free in a kernel of what no malloc gave: shared memory and a local variable, which CUDA lets pass, and an address of no block,
// of which the context dies (H200, driver 580); and a texture of the host's over a block of the device heap, which CUDA refuses.
//
// device hooks: all calls
//
// unlike-fenced: its fault ends the program, because the fence asks for core dumps
// run: shared
// expect: error device-heap-invalid-free count=1 message="shared memory" stacks="freed here"@free_shared:LINE(shared),"launched here"@main
// run: local
// expect: error device-heap-invalid-free count=1 message="local memory" stacks="freed here"@free_local:LINE(local),"launched here"@main
// run: nobody
// expect: error device-heap-invalid-free count=1 message="no malloc or new of a kernel gave out" stacks="freed here"@free_nobodys:LINE(nobody),"launched here"@main
// expect: note api-error stacks="failed here"@main:LINE(wait)
// run: texture
// expect: error heap-mixed count=1 api=cudaCreateTextureObject stacks="used here"@main:LINE(texture),"allocated here"@make:LINE(make),"launched here"@main
#include "answers.h"

__device__ int* volatile shared_block;

__global__ void free_shared()
{
  __shared__ int block[16];
  block[threadIdx.x] = 1;
  free(block + threadIdx.x); // @shared
}

__global__ void free_local(int value)
{
  int block = value;
  shared_block = &block; // so that it is in memory
  free(shared_block); // @local
}

__global__ void free_nobodys(void* block) { free(block); } // @nobody

__global__ void make() { shared_block = static_cast<int*>(malloc(4096)); } // @make
__global__ void end() { free(shared_block); }

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "shared"))
    free_shared<<<1, 1>>>();
  if (started_with(argc, argv, "local"))
    free_local<<<1, 1>>>(7);
  if (started_with(argc, argv, "nobody"))
    free_nobodys<<<1, 1>>>(reinterpret_cast<void*>(0x7000));
  if (started_with(argc, argv, "texture")) {
    make<<<1, 1>>>();
    int* block = nullptr;
    CHECK(cudaMemcpyFromSymbol(&block, shared_block, sizeof block));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = block;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = 4096;
    cudaTextureDesc description{};
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture = 0;
    const cudaError_t answer = cudaCreateTextureObject(&texture, &resource, &description, nullptr); // @texture
    std::printf("the texture was answered with %s\n", cudaGetErrorName(answer));
    (void)cudaGetLastError();
    end<<<1, 1>>>();
  }
  std::printf("the kernel ended with %s\n", cudaGetErrorName(cudaDeviceSynchronize())); // @wait
  return 0;
}
