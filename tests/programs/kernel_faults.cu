// SPDX-License-Identifier: Apache-2.0
// Mistakes inside kernels, which the simulated device sees at each access. On a GPU most of them stay unnoticed.
//
// unlike-fenced: CUDA reports its faults to the program
// run: clean
// expect: clean
// run: past-the-end
// device: simulated
// expect: error kernel-out-of-bounds count=24 message="right behind the end of 3.9 KiB of device memory" stacks="accessed here"@fill:LINE(fill),"launched here"@past_the_end:LINE(past),"allocated here"@past_the_end:LINE(block)
// run: after-the-free
// device: simulated
// expect: error kernel-use-after-free count=32 message="at the beginning of memory that was already freed" stacks="accessed here"@fill:LINE(fill),"launched here"@after_the_free:LINE(after),"freed here"@after_the_free:LINE(freed),"allocated here"@after_the_free:LINE(kept)
// run: race
// device: simulated
// expect: error shared-race message="without a barrier behind a load" stacks="accessed here"@reverse:LINE(own),"first accessed here"@reverse:LINE(other),"launched here"@reversed:LINE(raced)
// run: volatile
// device: simulated
// expect: warning shared-race message="both are volatile, which is no race, but orders nothing either" stacks="accessed here"@reverse:LINE(own),"first accessed here"@reverse:LINE(other),"launched here"@reversed:LINE(raced)
// run: two-barriers
// device: simulated
// expect: warning barrier-divergence message="and PTX counts both as one" stacks="waited here"@take_turns:LINE(second),"waited here"@take_turns:LINE(first),"launched here"@turns:LINE(turns)
// run: unnamed
// device: simulated
// expect: error kernel-fault message="the mask of the warp's barrier lacks the thread that calls it" stacks="failed here"@meet:LINE(unnamed),"launched here"@meeting:LINE(meeting)
// run: unnamed-shuffle
// device: simulated
// expect: warning kernel-fault message="with a mask that lacks the calling thread" stacks="failed here"@take:LINE(taken),"launched here"@taking:LINE(taking)
// run: no-lane
// device: simulated
// expect: warning kernel-uninitialized-read message="the result of a shuffle" stacks="accessed here"@take:LINE(taken),"used here"@take:LINE(taken),"launched here"@taking:LINE(taking)
// run: format
// device: simulated
// expect: warning kernel-fault count=32 message="by %zu, which CUDA's printf does not have" stacks="failed here"@show:LINE(shown),"launched here"@showing:LINE(showing)
// run: ended
// device: simulated
// expect: note barrier-divergence message="without others, which ended before" stacks="waited here"@add_part:LINE(rest),"launched here"@adding:LINE(adding)
// run: unwritten
// device: simulated
// expect: warning kernel-uninitialized-read count=32 message="that nothing wrote" stacks="accessed here"@twice:LINE(twice),"used here"@twice:LINE(twice),"launched here"@unwritten:LINE(reads),"allocated here"@unwritten:LINE(unwritten)
// run: unwritten-tracked
// device: simulated
// options: --device-checks full
// expect: warning kernel-uninitialized-read count=32 message="that nothing wrote" stacks="accessed here"@twice:LINE(twice),"used here"@twice:LINE(twice),"launched here"@unwritten:LINE(reads),"allocated here"@unwritten:LINE(unwritten)
// run: variable
// device: simulated
// expect: error kernel-out-of-bounds message="right behind the end of the variable table (32 bytes)" stacks="accessed here"@set_element:LINE(table),"launched here"@beside:LINE(variable)
// run: locked
// expect: clean
// run: unused
// device: simulated
// options: --device-checks full
// expect: clean
#include "answers.h"

struct Kept {
  float* values;
};

__global__ void fill(const Kept* kept, int count)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) kept->values[i] = 1; // @fill
}

__global__ void twice(const float* from, float* to)
{
  to[threadIdx.x] = 2 * from[threadIdx.x]; // @twice
}

// Loads what it does not choose.
__global__ void choose(const volatile float* from, float* to, int which)
{
  float value = from[threadIdx.x];
  to[threadIdx.x] = which == 1 ? 2 * value : 1;
}

template <bool waits, class Int>
__global__ void reverse(int* values)
{
  __shared__ Int tile[64];
  tile[threadIdx.x] = values[threadIdx.x]; // @own
  if constexpr (waits) __syncthreads();
  values[threadIdx.x] = tile[63 - threadIdx.x]; // @other
}

__global__ void take_turns(int* values)
{
  if (threadIdx.x < 32) {
    values[threadIdx.x] = 1;
    __syncthreads(); // @first
  } else {
    __syncthreads(); // @second
    values[threadIdx.x] = 2;
  }
}

__global__ void meet(int lanes)
{
  if (threadIdx.x < lanes) __syncwarp(0xffff); // @unnamed
}

// Of 16 lanes.
__global__ void take(int* values, unsigned mask, int lane)
{
  if (threadIdx.x >= 16) return;
  values[threadIdx.x] = __shfl_sync(mask, threadIdx.x, lane); // @taken
}

// Of one argument and of a small number %zu is right on a GPU as well.
__global__ void show(bool two)
{
  if (two) printf("%zu of %d\n", sizeof(int), 4); // @shown
  else printf("%hd %*lld %.3f %zu\n", 1, 5, 2ll, 1.5, sizeof(int));
}

__global__ void add_part(int* values, int count)
{
  __shared__ int sum;
  if (threadIdx.x >= count) return;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads(); // @rest
  atomicAdd(&sum, values[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) values[0] = sum;
}

__device__ int table[8];

__global__ void set_element(int i)
{
  table[i] = 1; // @table
}

static void beside()
{
  void* other;
  CHECK(cudaMalloc(&other, 256));
  TOUCH(other, 256);
  set_element<<<1, 1>>>(8); // @variable
  if (cudaDeviceSynchronize() == cudaSuccess) CHECK(cudaFree(other));
}

// A lock in shared memory orders what its holders do: acquire and release are fences.
__global__ void add_up(int* total)
{
  __shared__ unsigned lock;
  __shared__ int sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&lock));
  if (threadIdx.x % 32 == 0) {
    unsigned taken = 1;
    while (taken != 0)
      asm volatile("atom.acquire.cta.shared.exch.b32 %0, [%1], 1;" : "=r"(taken) : "r"(at) : "memory");
    sum += threadIdx.x;
    asm volatile("st.release.cta.shared.u32 [%0], 0;" ::"r"(at) : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) *total = sum;
}

static void locked()
{
  int *total, sum = 0;
  CHECK(cudaMalloc(&total, sizeof *total));
  add_up<<<1, 128>>>(total);
  CHECK(cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost));
  ANSWERS(32 + 64 + 96, sum);
  CHECK(cudaFree(total));
}

static Kept* keep(float* values)
{
  Kept host{values}, *kept;
  CHECK(cudaMalloc(&kept, sizeof host));
  CHECK(cudaMemcpy(kept, &host, sizeof host, cudaMemcpyHostToDevice));
  return kept;
}

static void past_the_end(int count)
{
  float* values;
  CHECK(cudaMalloc(&values, 1000 * sizeof(float))); // @block
  Kept* kept = keep(values);
  fill<<<4, 256>>>(kept, count); // @past
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(values));
  CHECK(cudaFree(kept));
}

static void after_the_free()
{
  float* values;
  CHECK(cudaMalloc(&values, 32 * sizeof(float))); // @kept
  CHECK(cudaMemset(values, 0, 32 * sizeof(float)));
  Kept* kept = keep(values);
  CHECK(cudaFree(values)); // @freed
  fill<<<1, 32>>>(kept, 32); // @after
  cudaDeviceSynchronize();
  cudaFree(kept);
}

template <bool waits, class Int = int>
static void reversed()
{
  int* values;
  CHECK(cudaMalloc(&values, 64 * sizeof(int)));
  CHECK(cudaMemset(values, 0, 64 * sizeof(int)));
  reverse<waits, Int><<<1, 64>>>(values); // @raced
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(values));
}

static void turns()
{
  int* values;
  CHECK(cudaMalloc(&values, 64 * sizeof(int)));
  take_turns<<<1, 64>>>(values); // @turns
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(values));
}

static void meeting(int lanes)
{
  meet<<<1, 32>>>(lanes); // @meeting
  cudaDeviceSynchronize();
}

static void taking(unsigned mask, int lane)
{
  int* values;
  CHECK(cudaMalloc(&values, 16 * sizeof(int)));
  take<<<1, 32>>>(values, mask, lane); // @taking
  if (cudaDeviceSynchronize() == cudaSuccess) CHECK(cudaFree(values));
}

static void showing(bool two)
{
  show<<<1, 32>>>(two); // @showing
  cudaDeviceSynchronize();
}

static void adding(int count)
{
  int* values;
  CHECK(cudaMalloc(&values, 64 * sizeof(int)));
  CHECK(cudaMemset(values, 0, 64 * sizeof(int)));
  add_part<<<1, 64>>>(values, count); // @adding
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(values));
}

static void unwritten(bool writes)
{
  float *from, *to;
  CHECK(cudaMalloc(&from, 32 * sizeof(float))); // @unwritten
  CHECK(cudaMalloc(&to, 32 * sizeof(float)));
  if (writes) CHECK(cudaMemset(from, 0, 32 * sizeof(float)));
  twice<<<1, 32>>>(from, to); // @reads
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
}

static void unused()
{
  float *from, *to;
  CHECK(cudaMalloc(&from, 32 * sizeof(float)));
  CHECK(cudaMalloc(&to, 32 * sizeof(float)));
  choose<<<1, 32>>>(from, to, 0);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "clean")) {
    past_the_end(1000);
    reversed<true>();
    meeting(16);
    taking(0xffff, 3);
    adding(64);
    showing(false);
    unwritten(true);
  } else if (started_with(argc, argv, "past-the-end")) {
    past_the_end(1024);
  } else if (started_with(argc, argv, "after-the-free")) {
    after_the_free();
  } else if (started_with(argc, argv, "race")) {
    reversed<false>();
  } else if (started_with(argc, argv, "volatile")) {
    reversed<false, volatile int>();
  } else if (started_with(argc, argv, "two-barriers")) {
    turns();
  } else if (started_with(argc, argv, "unnamed")) {
    meeting(17);
  } else if (started_with(argc, argv, "unnamed-shuffle")) {
    taking(0x7fff, 3);
  } else if (started_with(argc, argv, "no-lane")) {
    taking(0xffffffff, 20);
  } else if (started_with(argc, argv, "format")) {
    showing(true);
  } else if (started_with(argc, argv, "ended")) {
    adding(40);
  } else if (started_with(argc, argv, "variable")) {
    beside();
  } else if (started_with(argc, argv, "locked")) {
    locked();
  } else if (started_with(argc, argv, "unused")) {
    unused();
  } else {
    unwritten(false);
  }
}
