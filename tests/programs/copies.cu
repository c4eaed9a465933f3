// SPDX-License-Identifier: Apache-2.0
// Copies that are wrong or dear: a direction that is not the pointers', ranges that overlap, and many of one kind.
//
// run: refused
// expect: error copy-direction count=1 api=cudaMemcpy message="CUDA refused it" stacks="copied here"@main:LINE(refused),"allocated here"@main:LINE(alloc)
// run: silent
// expect: error copy-direction count=1 api=cudaMemcpy message="CUDA accepted it silently" stacks="copied here"@main:LINE(silent),"allocated here"@main:LINE(other)
// run: overlap
// expect: error copy-overlap count=1 api=cudaMemcpy stacks="copied here"@main:LINE(overlap),"allocated here"@main:LINE(alloc)
// run: pageable
// expect: warning pageable-copy count=16 api=cudaMemcpy stacks="copied here"@main:LINE(pageable)
// run: pinned
// expect: clean
// run: small
// expect: warning small-copies count=4096 api=cudaMemcpy stacks="copied here"@main:LINE(small)
// run: between-kernels
// expect: clean
#include "answers.h"

#include <vector>

constexpr size_t kBytes = 32 << 20;

__global__ void use(char* bytes) { ++bytes[0]; }

int main(int argc, char** argv)
{
  std::vector<char> pageable(kBytes);
  char *device = nullptr, *other = nullptr, *pinned = nullptr;
  CHECK(cudaMalloc(&device, kBytes)); // @alloc
  CHECK(cudaMalloc(&other, kBytes)); // @other
  CHECK(cudaMallocHost(&pinned, kBytes));
  TOUCH(device, kBytes);
  TOUCH(other, kBytes);
  std::memset(pinned, 0, kBytes);
  const auto is = [&](const char* word) { return started_with(argc, argv, word); };
  if (is("refused"))
    ANSWERS(cudaErrorInvalidValue, cudaMemcpy(device, pageable.data(), 256, cudaMemcpyDeviceToHost)); // @refused
  if (is("silent"))
    CHECK(cudaMemcpy(device, other, 256, cudaMemcpyHostToDevice)); // @silent
  if (is("overlap"))
    CHECK(cudaMemcpy(device, device + 4, 1024, cudaMemcpyDeviceToDevice)); // @overlap
  for (int i = 0; is("pageable") && i < 16; ++i)
    CHECK(cudaMemcpy(device, pageable.data(), kBytes, cudaMemcpyHostToDevice)); // @pageable
  for (int i = 0; is("pinned") && i < 16; ++i)
    CHECK(cudaMemcpy(device, pinned, kBytes, cudaMemcpyHostToDevice));
  for (int i = 0; is("small") && i < 4096; ++i)
    CHECK(cudaMemcpy(device + i, pinned + i, 1, cudaMemcpyHostToDevice)); // @small
  for (int i = 0; is("between-kernels") && i < 4096; ++i) {
    CHECK(cudaMemcpy(device + i, pinned + i, 1, cudaMemcpyHostToDevice));
    use<<<1, 1>>>(device);
  }
  CHECK(cudaDeviceSynchronize());
  (void)cudaGetLastError(); // of the refused copy
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(other));
  CHECK(cudaFree(device));
  return 0;
}
