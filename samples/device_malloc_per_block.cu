// SPDX-License-Identifier: Apache-2.0
// One thread of each block allocates for all of them and shares the pointer through shared memory. All write, neighbours
// beside neighbours, and the same thread frees behind a barrier.
// Variants: clean (or no word); all-free: every thread frees the block that they share. The first free is right, the
//   others end the context. Each free is recorded before it is done, so all that led there is known.
//
// device hooks: all calls
// unlike-fenced: its trap ends the program, because the fence asks for core dumps
// run:
// expect: clean
// run: all-free
// expect: error device-heap-double-free api=free stacks="freed again here"@fill_shared_block:LINE(free-all),"first freed here"@fill_shared_block:LINE(free-all),"allocated here"@fill_shared_block:LINE(alloc),"launched here"@main:LINE(launch)
// expect: note api-error count=1 api=cudaDeviceSynchronize stacks="failed here"@main:LINE(wait)
#include <cstdio>
#include <cstdlib>
#include <cstring>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr int kThreads = 64;

__global__ void fill_shared_block(int rounds, bool all_free)
{
  __shared__ int* data;
  if (threadIdx.x == 0)
    data = static_cast<int*>(malloc(blockDim.x * 64)); // @alloc
  __syncthreads();
  if (data == nullptr)
    return;
  for (int i = 0; i < rounds; ++i)
    data[i * blockDim.x + threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (all_free)
    free(data); // @free-all
  else if (threadIdx.x == 0)
    free(data);
}

int main(int count, char** words)
{
  const bool all_free = count > 1 && std::strcmp(words[1], "all-free") == 0;
  fill_shared_block<<<all_free ? 1 : 8, kThreads>>>(16, all_free); // @launch
  TRY(cudaGetLastError());
  TRY(cudaDeviceSynchronize()); // @wait
  return 0;
}
