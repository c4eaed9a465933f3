// SPDX-License-Identifier: Apache-2.0
// Memory of the device heap across launches: one kernel allocates a block for each of its thread blocks and leaves the
// pointers in a device variable, three launches add to it, another kernel frees it.
// Variants: clean (or no word); forget: the last kernel is not launched; double: it is launched twice, which
//   ends the context.
//
// device hooks: all calls
// unlike-fenced: its trap ends the program, because the fence asks for core dumps
// run:
// expect: clean
// run: forget
// expect: error device-heap-leak bytes=10240 count=20 stacks="allocated here"@allocate_data:LINE(alloc),"launched here"@main:LINE(launch-allocate)
// run: double
// expect: error device-heap-double-free stacks="freed again here"@free_data:LINE(free),"launched here"@launch_free:LINE(launch-free),"first freed here"@free_data:LINE(free),"allocated here"@allocate_data:LINE(alloc),"launched here"@main:LINE(launch-allocate)
// expect: note api-error count=1 api=cudaDeviceSynchronize stacks="failed here"@main:LINE(wait)
#include <cstdio>
#include <cstdlib>
#include <cstring>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr int kBlocks = 20;
constexpr int kThreads = 128;

__device__ int* data_of_block[kBlocks];

__global__ void allocate_data()
{
  if (threadIdx.x == 0)
    data_of_block[blockIdx.x] = static_cast<int*>(malloc(kThreads * sizeof(int))); // @alloc
  __syncthreads();
  if (int* data = data_of_block[blockIdx.x])
    data[threadIdx.x] = 0;
}

__global__ void add_to_data()
{
  if (int* data = data_of_block[blockIdx.x])
    data[threadIdx.x] += threadIdx.x;
}

__global__ void free_data()
{
  if (threadIdx.x == 0)
    free(data_of_block[blockIdx.x]); // @free
}

static void launch_free()
{
  free_data<<<kBlocks, kThreads>>>(); // @launch-free
}

int main(int count, char** words)
{
  const char* variant = count > 1 ? words[1] : "clean";
  allocate_data<<<kBlocks, kThreads>>>(); // @launch-allocate
  for (int i = 0; i < 3; ++i)
    add_to_data<<<kBlocks, kThreads>>>();
  CHECK(cudaDeviceSynchronize());
  const int frees = std::strcmp(variant, "forget") == 0 ? 0 : std::strcmp(variant, "double") == 0 ? 2 : 1;
  for (int i = 0; i < frees; ++i)
    launch_free();
  TRY(cudaDeviceSynchronize()); // @wait
  return 0;
}
