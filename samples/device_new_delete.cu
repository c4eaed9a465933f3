// SPDX-License-Identifier: Apache-2.0
// new, new[], delete and delete[] in a kernel. The device's operators do not know the line that calls them: reports name the
// kernel, its launch, block and thread.
// Variants: clean (or no word); mismatch: what new[] gave is freed by delete; forget: a new without delete.
//
// device hooks: all calls
// run:
// expect: clean
// run: mismatch
// expect: error device-heap-mismatched-free count=8 stacks="freed here","allocated here","launched here"@main:LINE(launch)
// run: forget
// expect: error device-heap-leak bytes=128 count=8 stacks="allocated here","launched here"@main:LINE(launch)
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

struct Vector {
  float x, y, z, w;
};

enum class Variant { kClean, kMismatch, kForget };

__global__ void objects(float* sums, Variant variant)
{
  Vector* one = new Vector{1, 2, 3, 4};
  Vector* many = new Vector[3];
  if (one == nullptr || many == nullptr)
    return;
  for (int i = 0; i < 3; ++i)
    many[i] = *one;
  sums[threadIdx.x] = one->x + many[2].w;
  if (variant != Variant::kForget)
    delete one;
  if (variant == Variant::kMismatch)
    delete many;
  else
    delete[] many;
}

int main(int count, char** words)
{
  const char* word = count > 1 ? words[1] : "clean";
  Variant variant = std::strcmp(word, "mismatch") == 0 ? Variant::kMismatch
    : std::strcmp(word, "forget") == 0 ? Variant::kForget : Variant::kClean;
  float* sums = nullptr;
  CHECK(cudaMalloc(&sums, 8 * sizeof(float)));
  objects<<<1, 8>>>(sums, variant); // @launch
  float host[8];
  CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(sums));
  std::printf("the last sum is %g\n", host[7]);
  return host[7] != 5;
}
