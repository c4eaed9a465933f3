// SPDX-License-Identifier: Apache-2.0
// Threads of one launch that use the same global memory, in an order and in none. Each kernel has a twin that differs
// in one thing alone.
//
// run: histogram
// device: simulated
// expect: error global-race message="nothing orders the two" stacks="accessed here"@count:LINE(plain),"accessed here"@count:LINE(plain),"launched here"@histogram:LINE(histogram),"allocated here"@main:LINE(block)
// run: histogram-atomic
// expect: clean
// run: reversed
// device: simulated
// expect: error global-race message="and another thread of the block reads them" stacks="accessed here"@reverse:LINE(own),"accessed here"@reverse:LINE(other),"launched here"@reversed:LINE(reversed),"allocated here"@main:LINE(block)
// run: reversed-barrier
// expect: clean
// run: last-block
// device: simulated
// expect: error global-race message="and a thread of another block" stacks="accessed here"@sum:LINE(partial),"accessed here"@sum:LINE(total),"launched here"@sums:LINE(sums),"allocated here"@main:LINE(block)
// run: last-block-fence
// expect: clean
// run: lock
// device: simulated
// expect: error global-race stacks="accessed here"@add_locked:LINE(locked),"accessed here"@add_locked:LINE(locked),"launched here"@locks:LINE(locks),"allocated here"@main:LINE(block)
// run: lock-fence
// expect: clean
// run: flag
// device: simulated
// expect: error global-race stacks="accessed here"@hand_over:LINE(data),"accessed here"@hand_over:LINE(taken),"launched here"@flags:LINE(flags),"allocated here"@main:LINE(block)
// run: flag-release
// expect: clean
// run: same-value
// device: simulated
// expect: note global-race message="both write the same value" stacks="accessed here"@mark:LINE(mark),"accessed here"@mark:LINE(mark),"launched here"@marks:LINE(marks),"allocated here"@main:LINE(block)
// run: one-writer
// expect: clean
// run: poll
// device: simulated
// expect: note global-race message="at least one of the two is a plain access" stacks="accessed here"@vote:LINE(voted),"accessed here"@vote:LINE(polled),"launched here"@votes:LINE(votes),"allocated here"@main:LINE(block)
// run: poll-atomic
// expect: clean
// run: raised
// device: simulated
// expect: note global-race message="as one asks a flag" stacks="accessed here"@search:LINE(found),"accessed here"@search:LINE(asked),"launched here"@searches:LINE(searches),"allocated here"@main:LINE(block)
// run: raised-atomic
// expect: clean
// run: bytes
// expect: clean
// run: grid
// expect: clean
// run: launches
// expect: clean
#include <cooperative_groups.h>
#include <cuda/atomic>

#include "answers.h"

constexpr int kBlocks = 8, kThreads = 64, kValues = kBlocks * kThreads;

template <bool is_atomic>
__global__ void count(int* bins)
{
  int* bin = &bins[(blockIdx.x * blockDim.x + threadIdx.x) % 7];
  if (is_atomic) atomicAdd(bin, 1);
  else *bin += 1; // @plain
}

template <bool waits>
__global__ void reverse(int* values)
{
  values[threadIdx.x] = threadIdx.x; // @own
  if (waits) __syncthreads();
  values[kThreads + threadIdx.x] = values[kThreads - 1 - threadIdx.x]; // @other
}

// The block that comes last adds up what all have stored.
template <bool fences>
__global__ void sum(int* values)
{
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    values[blockIdx.x] = blockIdx.x; // @partial
    if (fences) __threadfence();
    is_last = atomicAdd(&values[kBlocks], 1) == kBlocks - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  int all = 0;
  for (int i = 0; i < kBlocks; ++i) all += values[i]; // @total
  values[kBlocks + 1] = all;
}

template <bool fences>
__global__ void add_locked(int* values)
{
  if (threadIdx.x != 0) return;
  while (atomicCAS(&values[0], 0, 1) != 0) {
  }
  if (fences) __threadfence();
  values[1] += 1; // @locked
  if (fences) __threadfence();
  atomicExch(&values[0], 0);
}

template <bool releases>
__global__ void hand_over(int* values)
{
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(values[0]);
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    values[1] = 5; // @data
    flag.store(1, releases ? cuda::memory_order_release : cuda::memory_order_relaxed);
  } else {
    while (flag.load(releases ? cuda::memory_order_acquire : cuda::memory_order_relaxed) == 0) {
    }
    values[1 + blockIdx.x] = values[1]; // @taken
  }
}

template <bool is_one>
__global__ void mark(int* values)
{
  if (!is_one || (blockIdx.x == 0 && threadIdx.x == 0)) values[0] = 1; // @mark
}

template <bool is_atomic>
__global__ void vote(int* values)
{
  if (threadIdx.x != 0) return;
  atomicAdd(&values[0], 1); // @voted
  cuda::atomic_ref<int, cuda::thread_scope_device> votes(values[0]);
  const int seen = is_atomic ? votes.load(cuda::memory_order_relaxed) : values[0]; // @polled
  if (seen > 1) values[1 + blockIdx.x] = 1;
}

// Who finds the value says so, and the others leave.
template <bool is_atomic>
__global__ void search(int* values)
{
  cuda::atomic_ref<int, cuda::thread_scope_device> found(values[0]);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int is_found = is_atomic ? found.load(cuda::memory_order_relaxed) : values[0]; // @asked
  if (is_found != 0 || i != kThreads) return;
  if (is_atomic) found.store(1, cuda::memory_order_relaxed);
  else values[0] = 1; // @found
}

// 33 of a block: words are shared with the next.
__global__ void add_bytes(char* bytes)
{
  const int i = blockIdx.x * 33 + threadIdx.x;
  bytes[i] += 1;
  bytes[i] += bytes[i];
}

__global__ void rounds(int* values)
{
  const auto grid = cooperative_groups::this_grid();
  const int i = blockIdx.x * blockDim.x + threadIdx.x, next = (i + kThreads) % kValues;
  for (int round = 0; round < 3; ++round) {
    const int value = values[next];
    grid.sync();
    values[i] = value + 1;
    grid.sync();
  }
}

static void histogram(int* values, bool is_right)
{
  if (is_right) count<true><<<kBlocks, kThreads>>>(values);
  else count<false><<<kBlocks, kThreads>>>(values); // @histogram
}

static void reversed(int* values, bool is_right)
{
  if (is_right) reverse<true><<<1, kThreads>>>(values);
  else reverse<false><<<1, kThreads>>>(values); // @reversed
}

static void sums(int* values, bool is_right)
{
  if (is_right) sum<true><<<kBlocks, kThreads>>>(values);
  else sum<false><<<kBlocks, kThreads>>>(values); // @sums
}

static void locks(int* values, bool is_right)
{
  if (is_right) add_locked<true><<<kBlocks, kThreads>>>(values);
  else add_locked<false><<<kBlocks, kThreads>>>(values); // @locks
}

static void flags(int* values, bool is_right)
{
  if (is_right) hand_over<true><<<kBlocks, kThreads>>>(values);
  else hand_over<false><<<kBlocks, kThreads>>>(values); // @flags
}

static void marks(int* values, bool is_right)
{
  if (is_right) mark<true><<<kBlocks, kThreads>>>(values);
  else mark<false><<<kBlocks, kThreads>>>(values); // @marks
}

static void votes(int* values, bool is_right)
{
  if (is_right) vote<true><<<kBlocks, kThreads>>>(values);
  else vote<false><<<kBlocks, kThreads>>>(values); // @votes
}

static void searches(int* values, bool is_right)
{
  if (is_right) search<true><<<kBlocks, kThreads>>>(values);
  else search<false><<<kBlocks, kThreads>>>(values); // @searches
}

int main(int argc, char** argv)
{
  const auto is = [&](const char* word) { return started_with(argc, argv, word); };
  int* values = nullptr;
  CHECK(cudaMalloc(&values, 2 * kValues * sizeof(int))); // @block
  TOUCH(values, 2 * kValues * sizeof(int));
  if (is("histogram") || is("histogram-atomic")) histogram(values, is("histogram-atomic"));
  if (is("reversed") || is("reversed-barrier")) reversed(values, is("reversed-barrier"));
  if (is("last-block") || is("last-block-fence")) sums(values, is("last-block-fence"));
  if (is("lock") || is("lock-fence")) locks(values, is("lock-fence"));
  if (is("flag") || is("flag-release")) flags(values, is("flag-release"));
  if (is("same-value") || is("one-writer")) marks(values, is("one-writer"));
  if (is("poll") || is("poll-atomic")) votes(values, is("poll-atomic"));
  if (is("raised") || is("raised-atomic")) searches(values, is("raised-atomic"));
  if (is("bytes")) add_bytes<<<kBlocks, 33>>>(reinterpret_cast<char*>(values));
  if (is("grid")) {
    void* arguments[] = {&values};
    CHECK(cudaLaunchCooperativeKernel(rounds, dim3(kBlocks), dim3(kThreads), arguments, 0, nullptr));
  }
  if (is("launches")) {
    mark<true><<<kBlocks, kThreads>>>(values);
    reverse<true><<<1, kThreads>>>(values);
    count<true><<<kBlocks, kThreads>>>(values);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(values));
}
