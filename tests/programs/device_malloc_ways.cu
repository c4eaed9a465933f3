// SPDX-License-Identifier: Apache-2.0
// In-kernel malloc where instrumentation could get in the way: blocks of 1,024 threads, which leave 64 registers to each, and many
// streams at once. When code is loaded is device_malloc_loading.cu's matter.
//
// device hooks: all calls
// run: full-block
// expect: clean
// run: streams
// expect: error device-heap-leak bytes=2048 count=32 stacks="allocated here"@leak_one:LINE(leak),"launched here"@streams:LINE(launch-streams)
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

__device__ void* last;

__global__ void leak_one()
{
  last = malloc(64); // @leak
}

__global__ void by_each_of_a_full_block(unsigned* failed)
{
  void* own = malloc(16);
  if (own == nullptr)
    atomicAdd(failed, 1u);
  free(own);
}

static void full_block()
{
  unsigned* failed = nullptr;
  unsigned host = 0;
  CHECK(cudaMalloc(&failed, sizeof *failed));
  CHECK(cudaMemset(failed, 0, sizeof *failed));
  by_each_of_a_full_block<<<4, 1024>>>(failed);
  CHECK(cudaGetLastError()); // "too many resources requested" would show here
  CHECK(cudaMemcpy(&host, failed, sizeof host, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(failed));
  std::printf("%u of 4096 threads got no memory\n", host);
}

static void streams()
{
  cudaStream_t all[8];
  for (cudaStream_t& stream : all)
    CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i < 32; ++i)
    leak_one<<<1, 1, 0, all[i % 8]>>>(); // @launch-streams
  for (cudaStream_t& stream : all)
    CHECK(cudaStreamDestroy(stream));
  CHECK(cudaDeviceSynchronize());
}

int main(int count, char** words)
{
  const char* variant = count > 1 ? words[1] : "";
  if (std::strcmp(variant, "full-block") == 0)
    full_block();
  else if (std::strcmp(variant, "streams") == 0)
    streams();
  else
    return 2;
  return 0;
}
