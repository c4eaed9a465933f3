// SPDX-License-Identifier: Apache-2.0
// Kernels that are given freed memory: as a parameter, among many parameters; and what
// looks alike: an address that a new allocation has got, a host pointer, a number.
//
// run: parameter
// expect: error use-after-free count=1 message="The launch of scale(float*, float, int) passes as parameter 1 the pointer" stacks="allocated here"@main:LINE(alloc),"freed here"@main:LINE(free),"launched here"
// run: last
// expect: error use-after-free count=1 message="passes as parameter 7 the pointer" api=cudaLaunchKernel stacks="allocated here"@main:LINE(alloc),"freed here"@main:LINE(free),"launched here"@last:LINE(last)
// run: pinned
// expect: error use-after-free count=1 message="memory that was already freed: 4.0 KiB of pinned host memory" stacks="allocated here"@host_block:LINE(alloc-pinned),"freed here"@main:LINE(free-pinned),"launched here"
// run: managed
// expect: error use-after-free count=1 message="memory that was already freed: 4.0 KiB of managed memory" stacks="allocated here"@host_block:LINE(alloc-managed),"freed here"@main:LINE(free-managed),"launched here"
// run: off
// env: GPUMEMTRACE_LAUNCH_ARGUMENTS=0
// expect: clean
// run: reused
// expect: clean
// run: others
// expect: error host-pointer count=1 message="The launch of number(unsigned long, char const*) passes as parameter 2 the pointer" stacks="launched here"
#include "answers.h"

#include <cstdint>
#include <cstdlib>

struct Rows {
  int count;
  float* rows[3];
};

// None of them touches memory: on a GPU the mistakes must not end the program.
__global__ void scale(float* values, float by, int count) { (void)values, (void)by, (void)count; }
__global__ void many(int, char, double, float*, Rows, short, float*) {}
__global__ void number(std::uint64_t, const char*) {}

static void parameter(float* freed)
{
  scale<<<1, 32>>>(freed, 2.0f, 16);
}

__attribute__((noinline)) static void last(float* freed, float* live)
{
  int i = 1;
  char c = 'x';
  double d = 2;
  Rows rows{3, {live, live, live}};
  short s = 4;
  void* parameters[] = {&i, &c, &d, &live, &rows, &s, &freed};
  CHECK(cudaLaunchKernel(many, dim3(1), dim3(32), parameters, 0, nullptr)); // @last
}

__attribute__((noinline)) static float* host_block(bool managed)
{
  float* block = nullptr;
  if (managed) CHECK(cudaMallocManaged(&block, 4096)); // @alloc-managed
  else CHECK(cudaMallocHost(&block, 4096)); // @alloc-pinned
  TOUCH(block, 4096);
  CHECK(cudaDeviceSynchronize());
  return block;
}

int main(int argc, char** argv)
{
  float *live = nullptr, *block = nullptr;
  CHECK(cudaMalloc(&live, 4000)); // ends where no block can begin: see end_pointers.cu
  CHECK(cudaMalloc(&block, 4096)); // @alloc
  TOUCH(live, 4000);
  TOUCH(block, 4096);
  parameter(live); // loads the module, which maps host memory: it must not lie where a freed block was
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(block)); // @free
  if (started_with(argc, argv, "parameter") || started_with(argc, argv, "off")) parameter(block);
  if (started_with(argc, argv, "pinned")) {
    float* pinned = host_block(false);
    CHECK(cudaFreeHost(pinned)); // @free-pinned
    parameter(pinned);
  }
  if (started_with(argc, argv, "managed")) {
    float* managed = host_block(true);
    CHECK(cudaFree(managed)); // @free-managed
    parameter(managed);
  }
  if (started_with(argc, argv, "last")) last(block, live);
  if (started_with(argc, argv, "reused")) {
    float* again = nullptr;
    CHECK(cudaMalloc(&again, 4096));
    TOUCH(again, 4096);
    if (again == block) parameter(block); // the same address, another allocation's
    parameter(again);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(again));
  }
  if (started_with(argc, argv, "others")) {
    char* host = static_cast<char*>(std::malloc(4096));
    number<<<1, 1>>>(12345, host);
    number<<<1, 1>>>(UINT64_MAX, nullptr);
    CHECK(cudaDeviceSynchronize());
    std::free(host);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(live));
  return 0;
}
