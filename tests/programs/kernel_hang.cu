// SPDX-License-Identifier: Apache-2.0
// Kernels that can never end, one that is only slow, and what becomes of the program after a fault.
//
// unlike-fenced: a mapping may be shared with another process, which could change what a kernel polls
// run: poll
// device: simulated
// expect: error kernel-hang count=1 message="never ends: it polls memory" stacks="waited here"@poll:LINE(poll),"launched here"@main:LINE(polled),"allocated here"@main:LINE(flag)
// not-checked: leak
// run: lock
// device: simulated
// expect: error kernel-hang count=1 stacks="waited here"@twice:LINE(lock),"launched here"@main:LINE(locked),"allocated here"@main:LINE(flag)
// not-checked: leak
// run: grid
// device: simulated
// expect: error kernel-hang count=1 message="blocks wait at a barrier of the grid that others never reach" stacks="waited here"@all_but_one:LINE(grid),"launched here"@main:LINE(cooperative)
// not-checked: leak
// run: barrier
// device: simulated
// expect: error kernel-hang message="at a barrier for more threads than there are" stacks="waited here"@too_many:LINE(barrier),"launched here"@main:LINE(waited)
// not-checked: leak
// run: arrivals
// device: simulated
// expect: error kernel-hang message="the mbarrier that it polls waits for 1 arrival more"
// not-checked: leak
// run: slow
// device: simulated
// options: --kernel-time 300ms
// expect: clean
// not-checked: kernel counts(int volatile*, unsigned long long*)
// not-checked: leak
// run: beside
// device: simulated
// options: --kernel-time 300ms
// expect: clean
// not-checked: kernel poll(int volatile*)
// not-checked: leak
// run: list
// device: simulated
// expect: error kernel-out-of-bounds stacks="accessed here"@sum:LINE(value),"launched here"@main:LINE(summed)
// expect: error kernel-out-of-bounds stacks="accessed here"@sum:LINE(next),"launched here"@main:LINE(summed)
// not-checked: leak
// run: list-and-poll
// device: simulated
// options: --after-fault continue
// expect: error kernel-out-of-bounds stacks="accessed here"@sum:LINE(value),"launched here"@main:LINE(summed)
// expect: error kernel-out-of-bounds stacks="accessed here"@sum:LINE(next),"launched here"@main:LINE(summed)
// expect: error kernel-hang count=1 stacks="waited here"@poll:LINE(poll),"launched here"@main:LINE(polled),"allocated here"@main:LINE(flag)
#include "answers.h"

#include <cooperative_groups.h>

struct Node {
  Node* next;
  int value;
};

__global__ void poll(volatile int* flag)
{
  while (*flag == 0) {} // @poll
}

// Each thread takes the lock that it holds once more.
__global__ void twice(int* lock)
{
  for (int i = 0; i < 2; ++i)
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20); // @lock
}

__global__ void all_but_one(int* result)
{
  if (blockIdx.x == 2) return;
  cooperative_groups::this_grid().sync(); // @grid
  *result = 1;
}

__global__ void too_many()
{
  asm volatile("bar.sync 1, 96;" ::: "memory"); // @barrier
}

// One arrival more is expected than there are threads.
__global__ void one_too_few()
{
  __shared__ unsigned long long object;
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(&object));
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(blockDim.x + 1) : "memory");
  __syncthreads();
  asm volatile("{ .reg .b64 s; .reg .pred p; mbarrier.arrive.shared.b64 s, [%0];\n"
               "W: mbarrier.try_wait.shared.b64 p, [%0], s; @!p bra W; }" ::"r"(address)
               : "memory");
}

__global__ void counts(volatile int* flag, unsigned long long* tries)
{
  unsigned long long n = 0;
  while (*flag == 0) ++n;
  *tries = n;
}

__global__ void sum(const Node* node, int* result)
{
  int all = 0;
  while (node->value >= 0) { // @value
    all += node->value;
    node = node->next; // @next
  }
  *result = all;
}

int main(int argc, char** argv)
{
  const auto is = [&](const char* word) { return started_with(argc, argv, word); };
  int* flag = nullptr;
  CHECK(cudaMalloc(&flag, 64)); // @flag
  CHECK(cudaMemset(flag, 0, 64));
  cudaError_t expected = cudaErrorLaunchTimeout;
  cudaStream_t other = nullptr;
  if (is("beside")) CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  if (is("list") || is("list-and-poll")) {
    sum<<<1, 1>>>(nullptr, flag); // @summed
    expected = cudaErrorIllegalAddress;
  }
  if (is("poll") || is("beside") || is("list-and-poll")) poll<<<2, 32>>>(flag); // @polled
  if (is("lock")) twice<<<1, 1>>>(flag); // @locked
  if (is("barrier")) too_many<<<1, 64>>>(); // @waited
  if (is("arrivals")) one_too_few<<<1, 64>>>();
  if (is("slow")) counts<<<1, 32>>>(flag, reinterpret_cast<unsigned long long*>(flag + 2));
  if (is("grid")) {
    void* arguments[] = {&flag};
    const auto kernel = reinterpret_cast<void*>(all_but_one);
    CHECK(cudaLaunchCooperativeKernel(kernel, dim3(4), dim3(32), arguments, 0, nullptr)); // @cooperative
  }
  if (is("list-and-poll")) expected = cudaSuccess;
  const cudaError_t answer = cudaDeviceSynchronize();
  if (answer != expected) {
    std::printf("%s\n", cudaGetErrorName(answer));
    return 4;
  }
  cudaFree(flag);
  return 0;
}
