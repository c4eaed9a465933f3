// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels, which use the same memory without an order, each with its right twin.
//
// launches by kernels
// run: racy
// device: simulated
// expect: error global-race line=LINE(own_child) message="whose threads launched it, reads them" stacks="accessed here"@raise:LINE(own_child),"accessed here"@reads_its_child:LINE(looked_at),"launched here"@each:LINE(launched),"allocated here"@main:LINE(numbers)
// expect: error global-race line=LINE(doubled) message="whose threads launched it, writes them"
// expect: error global-race line=LINE(summed) message="whose threads launched it, writes them"
// expect: error global-race line=LINE(tripled) message="launched by a kernel as well, writes them"
// expect: error global-race line=LINE(of_another_block) message="launched by a kernel as well, writes them"
// expect: error global-race line=LINE(alone) message="launched by a kernel as well, writes them"
// expect: error global-race line=LINE(grandchild) message="whose threads launched it, reads them"
// run: right
// device: simulated
// expect: clean
// run: right-2
// device: simulated
// options: --device-seed 2
// expect: clean
// run: right-3
// device: simulated
// options: --device-seed 3 --races-schedules 3
// expect: clean
// run: right-late
// device: simulated
// options: --late 1
// expect: clean
#include "answers.h"

constexpr int kThreads = 64, kBlocks = 4, kNumbers = kBlocks * kThreads;

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void raise(int* numbers) { numbers[index()] += 1; } // @own_child

// A kernel does not wait for what it launches: a tail launch comes behind that.
__global__ void look(const int* numbers, int* out) { *out = numbers[3]; }
template <bool ok>
__global__ void reads_its_child(int* numbers, int* out)
{
  if (index() != 0)
    return;
  raise<<<1, kThreads>>>(numbers);
  if (ok)
    look<<<1, 1, 0, cudaStreamTailLaunch>>>(numbers, out);
  else
    *out = numbers[3]; // @looked_at
}

__global__ void twice(int* numbers) { numbers[index()] *= 2; } // @doubled

// Each thread writes a number, and one of them launches.
template <bool ok>
__global__ void launches_too_soon(int* numbers, int*)
{
  if (blockIdx.x != 0)
    return;
  numbers[threadIdx.x] = threadIdx.x;
  if (ok)
    __syncthreads();
  if (threadIdx.x == 0)
    twice<<<1, kThreads>>>(numbers);
}

__global__ void sum(const int* numbers, int* out)
{
  int all = 0;
  for (int i = 0; i < kNumbers; ++i)
    all += numbers[i]; // @summed
  *out = all;
}

// All blocks write, and the first launches, or the last one that comes.
template <bool ok>
__global__ void sums_all_blocks(int* numbers, int* out)
{
  numbers[index()] = 2;
  __threadfence();
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  if (ok ? atomicAdd(out + 1, 1) == kBlocks - 1 : blockIdx.x == 0)
    sum<<<1, 1>>>(numbers, out);
}

__global__ void thrice(int* numbers) { numbers[index()] *= 3; } // @tripled

// Into two streams of its own, or into one.
template <bool ok>
__global__ void two_streams(int* numbers, int*)
{
  if (index() != 0)
    return;
  cudaStream_t one, other;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  thrice<<<1, kThreads, 0, one>>>(numbers);
  thrice<<<1, kThreads, 0, ok ? one : other>>>(numbers);
  cudaStreamDestroy(one);
  cudaStreamDestroy(other);
}

__global__ void more(int* numbers) { numbers[index()] += 3; } // @of_another_block

// Streams of two blocks are two, also where neither has made one.
template <bool ok>
__global__ void two_blocks(int* numbers, int*)
{
  if (threadIdx.x < 2 && blockIdx.x < (ok ? 1 : 2))
    more<<<1, kThreads>>>(numbers);
}

__global__ void less(int* numbers) { numbers[index()] -= 3; } // @alone

template <bool ok>
__global__ void fires_and_forgets(int* numbers, int*)
{
  if (index() != 0)
    return;
  less<<<1, kThreads, 0, cudaStreamFireAndForget>>>(numbers);
  less<<<1, kThreads, 0, cudaStreamFireAndForget>>>(numbers + (ok ? kThreads : 0));
}

// What a child launches is over when the child is, and no sooner.
__global__ void grandchild(int* numbers) { numbers[index()] = 9; } // @grandchild
__global__ void child(int* numbers) { grandchild<<<1, kThreads>>>(numbers); }
template <bool ok>
__global__ void has_grandchildren(int* numbers, int* out)
{
  if (index() != 0)
    return;
  child<<<1, 1>>>(numbers);
  if (ok)
    look<<<1, 1>>>(numbers, out);
  else
    *out = numbers[5];
}

static void each(void (*kernel)(int*, int*), int* numbers, int* out)
{
  CHECK(cudaMemset(numbers, 0, kNumbers * sizeof(int)));
  CHECK(cudaMemset(out, 0, 2 * sizeof(int)));
  kernel<<<kBlocks, kThreads>>>(numbers, out); // @launched
  // A later launch of the program comes behind all of it
  raise<<<kBlocks, kThreads>>>(numbers);
  CHECK(cudaDeviceSynchronize());
}

template <bool ok>
static void all(int* numbers, int* out)
{
  each(reads_its_child<ok>, numbers, out);
  each(launches_too_soon<ok>, numbers, out);
  each(sums_all_blocks<ok>, numbers, out);
  each(two_streams<ok>, numbers, out);
  each(two_blocks<ok>, numbers, out);
  each(fires_and_forgets<ok>, numbers, out);
  each(has_grandchildren<ok>, numbers, out);
}

int main(int argc, char** argv)
{
  int *numbers = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&numbers, kNumbers * sizeof(int))); // @numbers
  CHECK(cudaMalloc(&out, 2 * sizeof(int)));
  if (started_with(argc, argv, "racy"))
    all<false>(numbers, out);
  else
    all<true>(numbers, out);
  CHECK(cudaFree(numbers));
  CHECK(cudaFree(out));
}
