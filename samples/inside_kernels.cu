// SPDX-License-Identifier: Apache-2.0
// Mistakes inside kernels: one reads past the end of its input, one loses memory that it allocated
// with malloc. What is printed is right all the same, so nothing but a checker shows them. On a GPU the
// first goes unseen, and the second too unless the kernels are compiled for it; the simulated device
// executes the kernels and checks each access. With "clean" both are mended.
//
// unlike-fenced: CUDA reports its fault to the program
// run:
// expect-simulated: error kernel-out-of-bounds count=1 message="reads 4 bytes" stacks="accessed here"@pair_mean:LINE(past),"launched here"@main:LINE(smooth),"allocated here"@main:LINE(alloc)
// expect-simulated: error device-heap-leak count=4 bytes=128 stacks="allocated here"@sort_fours:LINE(malloc),"launched here"@main:LINE(sort)
// expect-real: clean
// run: clean
// expect: clean
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const cudaError_t error_ = (call);                                                             \
    if (error_ != cudaSuccess) {                                                                   \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                           \
                   cudaGetErrorString(error_));                                                    \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

// The mean of each value and its right neighbour. The last one has none.
__device__ float pair_mean(const float* values, int i, int count, bool clean)
{
  if (clean && i + 1 == count) return values[i];
  return (values[i] + values[i + 1]) / 2; // @past
}

__global__ void smooth(const float* values, float* means, int count, bool clean)
{
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) means[i] = pair_mean(values, i, count, clean);
}

// Each thread sorts its four values in memory of its own, and the fourth thread of a block forgets it.
__global__ void sort_fours(float* values, bool clean)
{
  float* own = values + 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  auto* copy = static_cast<float*>(malloc(32)); // @malloc
  if (copy == nullptr) return;
  for (int i = 0; i < 4; ++i) {
    int at = i;
    for (; at > 0 && copy[at - 1] > own[i]; --at) copy[at] = copy[at - 1];
    copy[at] = own[i];
  }
  for (int i = 0; i < 4; ++i) own[i] = copy[i];
  if (clean || threadIdx.x % 4 != 3) free(copy);
}

int main(int count_of_words, char** words)
{
  const bool clean = count_of_words > 1 && std::strcmp(words[1], "clean") == 0;
  constexpr int kCount = 64;
  constexpr std::size_t kBytes = kCount * sizeof(float);
  std::vector<float> host(kCount);
  for (int i = 0; i < kCount; ++i) host[static_cast<std::size_t>(i)] = static_cast<float>((i * 37) % kCount);

  float *values = nullptr, *means = nullptr;
  CHECK(cudaMalloc(&values, kBytes)); // @alloc
  CHECK(cudaMalloc(&means, kBytes));
  CHECK(cudaMemcpy(values, host.data(), kBytes, cudaMemcpyHostToDevice));
  smooth<<<kCount / 32, 32>>>(values, means, kCount, clean); // @smooth
  sort_fours<<<1, kCount / 4>>>(values, clean); // @sort
  CHECK(cudaDeviceSynchronize());

  std::vector<float> sorted(kCount), smoothed(kCount);
  CHECK(cudaMemcpy(sorted.data(), values, kBytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(smoothed.data(), means, kBytes, cudaMemcpyDeviceToHost));
  std::printf("sorted:   %g %g %g %g ...\n", sorted[0], sorted[1], sorted[2], sorted[3]);
  std::printf("smoothed: %g %g %g %g ...\n", smoothed[0], smoothed[1], smoothed[2], smoothed[3]);
  CHECK(cudaFree(values));
  CHECK(cudaFree(means));
}
