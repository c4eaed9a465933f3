// SPDX-License-Identifier: Apache-2.0
// What else can be said of malloc and free in kernels: a pointer inside a block, a block that another kernel frees
// without an order between the two, a heap that was nearly full. CUDA refuses the first silently: the block stays
// allocated, and the program goes on; six blocks of 1 MiB are all that 8 MiB hold (H200, driver 580).
//
// device hooks: all calls
//
// run: inside
// expect: error device-heap-invalid-free bytes=64 count=1 message="4 bytes inside a block" stacks="freed here"@free_inside:LINE(inside),"launched here"@main,"allocated here"@free_inside:LINE(make-inside)
// expect: error device-heap-leak bytes=64 count=1 stacks="allocated here"@free_inside:LINE(make-inside),"launched here"@main
// run: elsewhere
// expect: note device-heap-freed-elsewhere count=1 bytes=64 stacks="freed here"@end:LINE(end),"launched here"@main,"allocated here"@make:LINE(make),"launched here"@main
// run: in-order
// expect: clean
// run: too-full
// device: gpu
// expect: warning device-heap-exhausted count=1 message="6.0 MiB in 6 blocks were alive" stacks="failed here"@hold:LINE(hold),"launched here"@main
// run: full
// expect: note device-heap-high-water message="75 % of its limit of 8.0 MiB" stacks="allocated here"@hold:LINE(hold),"launched here"@main
#include "answers.h"

__device__ int* volatile shared_block;

__global__ void free_inside()
{
  int* block = static_cast<int*>(malloc(64)); // @make-inside
  free(block + 1); // @inside
}

__global__ void make() { shared_block = static_cast<int*>(malloc(64)); } // @make

__global__ void end()
{
  while (shared_block == nullptr) {
  }
  free(shared_block); // @end
}

__global__ void hold()
{
  void* block = malloc(1 << 20); // @hold
  __syncthreads();
  free(block);
}

int main(int argc, char** argv)
{
  cudaStream_t first, second;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));
  if (started_with(argc, argv, "inside"))
    free_inside<<<1, 1, 0, first>>>();
  if (started_with(argc, argv, "elsewhere")) {
    make<<<1, 1, 0, first>>>();
    end<<<1, 1, 0, second>>>();
  }
  if (started_with(argc, argv, "in-order")) {
    make<<<1, 1, 0, first>>>();
    end<<<1, 1, 0, first>>>();
  }
  if (started_with(argc, argv, "full"))
    hold<<<1, 6, 0, first>>>();
  if (started_with(argc, argv, "too-full"))
    hold<<<1, 7, 0, first>>>();
  if (cudaDeviceSynchronize() != cudaSuccess)
    return 0; // nothing can be freed any more
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  return 0;
}
