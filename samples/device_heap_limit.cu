// SPDX-License-Identifier: Apache-2.0
// The device heap holds 8 MiB unless the program says otherwise, and it can do so only before a kernel that allocates is
// loaded. Here 32 thread blocks want 1 MiB each.
// Variants: default (or no word): most of them get NULL; early: the limit is raised first: clean; late: it is raised
//   behind the first launch, which CUDA refuses.
//
// device hooks: all calls
// run:
// expect: warning device-heap-exhausted message="cudaDeviceSetLimit(cudaLimitMallocHeapSize" stacks="failed here"@take_one_mebibyte:LINE(alloc),"launched here"@take_and_free:LINE(launch)
// run: early
// expect: clean
// run: late
// expect: warning device-heap-exhausted message="came too late and was refused with cudaErrorInvalidValue (1)" stacks="failed here"@take_one_mebibyte:LINE(alloc),"launched here"@take_and_free:LINE(launch),"limit refused here"@raise_limit:LINE(limit)
#include <cstdio>
#include <cstdlib>
#include <cstring>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr int kBlocks = 32;

__device__ void* taken[kBlocks];
__device__ int refused;

__global__ void take_one_mebibyte(int blocks)
{
  if (static_cast<int>(blockIdx.x) >= blocks)
    return;
  taken[blockIdx.x] = malloc(1 << 20); // @alloc
  if (taken[blockIdx.x] == nullptr)
    atomicAdd(&refused, 1);
}

__global__ void free_all()
{
  free(taken[blockIdx.x]);
  taken[blockIdx.x] = nullptr;
}

static void raise_limit()
{
  TRY(cudaDeviceSetLimit(cudaLimitMallocHeapSize, size_t{128} << 20)); // @limit
}

static void take_and_free(int blocks)
{
  take_one_mebibyte<<<kBlocks, 1>>>(blocks); // @launch
  free_all<<<kBlocks, 1>>>();
  CHECK(cudaDeviceSynchronize());
}

int main(int count, char** words)
{
  const char* variant = count > 1 ? words[1] : "default";
  if (std::strcmp(variant, "early") == 0)
    raise_limit();
  if (std::strcmp(variant, "late") == 0) {
    take_and_free(0); // nothing is taken, but the kernel is loaded
    raise_limit();
  }
  take_and_free(kBlocks);
  int host_refused = 0;
  CHECK(cudaMemcpyFromSymbol(&host_refused, refused, sizeof host_refused));
  std::printf("%d of %d blocks got no memory\n", host_refused, kBlocks);
  return 0;
}
