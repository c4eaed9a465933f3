// SPDX-License-Identifier: Apache-2.0
// Each thread allocates 123 bytes in the kernel, sets them, and reports its sum. The blocks lie in the device heap, which
// outlives the kernel: what no kernel frees stays until the context ends.
// Variants: leak (or no word): no thread frees; free: each thread frees its own block; launches: the leak of five launches.
//
// device hooks: all calls
// run:
// expect: error device-heap-leak bytes=7872 count=64 stacks="allocated here"@sum_of_own_block:LINE(alloc),"launched here"@launch:LINE(launch)
// run: free
// expect: clean
// run: launches
// expect: error device-heap-leak bytes=39360 count=320 message="launches 1 to 5" stacks="allocated here"@sum_of_own_block:LINE(alloc),"launched here"@launch:LINE(launch)
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr int kBlocks = 2;
constexpr int kThreads = 32;
constexpr int kBytes = 123;

__global__ void sum_of_own_block(int* sums, bool release)
{
  char* own = static_cast<char*>(malloc(kBytes)); // @alloc
  if (own == nullptr)
    return;
  memset(own, 2, kBytes);
  int sum = 0;
  for (int i = 0; i < kBytes; ++i)
    sum += own[i];
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if (release)
    free(own);
}

static void launch(int* sums, bool release)
{
  sum_of_own_block<<<kBlocks, kThreads>>>(sums, release); // @launch
  CHECK(cudaDeviceSynchronize());
}

int main(int count, char** words)
{
  const char* variant = count > 1 ? words[1] : "leak";
  const int launches = std::strcmp(variant, "launches") == 0 ? 5 : 1;
  int* sums = nullptr;
  CHECK(cudaMalloc(&sums, kBlocks * kThreads * sizeof(int)));
  CHECK(cudaMemset(sums, 0, kBlocks * kThreads * sizeof(int)));
  for (int i = 0; i < launches; ++i)
    launch(sums, std::strcmp(variant, "free") == 0);
  int host[kBlocks * kThreads];
  CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(sums));
  int wrong = 0;
  for (int sum : host)
    wrong += sum != 2 * kBytes;
  std::printf("%d of %d threads had another sum than %d\n", wrong, kBlocks * kThreads, 2 * kBytes);
  return wrong != 0;
}
