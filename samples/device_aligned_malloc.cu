// SPDX-License-Identifier: Apache-2.0
// __nv_aligned_device_malloc gives a kernel memory aligned as it asks, here for whole vectors of 256 bytes.
// Variants: clean (or no word); odd: an alignment of 48, which is no power of two.
//
// device hooks: all calls
// run:
// expect: clean
// run: odd
// device: gpu
// expect: error device-heap-alignment message="48" stacks="allocated here"@use_aligned_block:LINE(alloc),"launched here"@main:LINE(launch)
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

__global__ void use_aligned_block(size_t alignment, unsigned long long* misaligned)
{
  int* own = static_cast<int*>(__nv_aligned_device_malloc(1024, alignment)); // @alloc
  if (own == nullptr)
    return;
  if (reinterpret_cast<size_t>(own) % alignment != 0)
    atomicAdd(misaligned, 1ull);
  own[threadIdx.x] = threadIdx.x;
  free(own);
}

int main(int count, char** words)
{
  const size_t alignment = count > 1 && std::strcmp(words[1], "odd") == 0 ? 48 : 256;
  unsigned long long* misaligned = nullptr;
  CHECK(cudaMalloc(&misaligned, sizeof *misaligned));
  CHECK(cudaMemset(misaligned, 0, sizeof *misaligned));
  use_aligned_block<<<4, 32>>>(alignment, misaligned); // @launch
  unsigned long long found = 0;
  CHECK(cudaMemcpy(&found, misaligned, sizeof found, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(misaligned));
  std::printf("%llu of 128 blocks are not aligned to %zu bytes\n", found, alignment);
  return alignment == 256 && found != 0;
}
