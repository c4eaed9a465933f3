// SPDX-License-Identifier: Apache-2.0
// Locks that threads of one warp, of one block and of several blocks wait for. They end because
// threads make progress by themselves, and blocks that were started go on.
#include "torture.h"

__device__ int plain_lock = 0;
__device__ unsigned next_ticket = 0;
__device__ unsigned now_served = 0;

// Every thread of a warp takes the same lock.
__global__ void lock_in_a_warp(volatile int* total) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&plain_lock, 0, 1) == 0) {
      __threadfence();
      *total = *total + 1;
      __threadfence();
      atomicExch(&plain_lock, 0);
      done = true;
    }
  }
}

// The holder leaves the loop and unlocks behind it: this ends only with independent threads.
__global__ void lock_and_leave(volatile int* total, int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  *total = *total + 3;
  __threadfence();
  atomicExch(lock, 0);
}

__global__ void lock_between_blocks(volatile double* total, int* lock) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
    __threadfence();
    *total = *total + blockIdx.x;
    __threadfence();
    atomicExch(lock, 0);
  }
  __syncthreads();
}

__global__ void ticket_lock(volatile int* order) {
  const unsigned mine = atomicAdd(&next_ticket, 1u);
  bool done = false;
  while (!done) {
    if (atomicAdd(&now_served, 0u) == mine) {
      order[mine] = order[mine] + 1;
      __threadfence();
      atomicAdd(&now_served, 1u);
      done = true;
    }
  }
}

// One lock for each bucket, in shared memory.
__global__ void bucket_locks(const int* in, int* out, int n) {
  __shared__ int locks[8];
  __shared__ volatile int sums[8];
  if (threadIdx.x < 8) {
    locks[threadIdx.x] = 0;
    sums[threadIdx.x] = 0;
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) {
    const int bucket = in[i] % 8;
    bool done = false;
    while (!done) {
      if (atomicCAS(locks + bucket, 0, 1) == 0) {
        sums[bucket] = sums[bucket] + in[i];
        __threadfence_block();
        atomicExch(locks + bucket, 0);
        done = true;
      }
    }
  }
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = sums[threadIdx.x];
}

// A tenth of a second, by the clock, by the timer and by sleep. What passes is the result.
__global__ void wait(long long* passed) {
  constexpr long long kCycles = 200000000, kNanoseconds = 100000000;
  const auto timer = [] {
    long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
  };
  const long long begin = clock64(), start = timer();
  if (threadIdx.x == 0) {
    while (clock64() - begin < kCycles) {
    }
    passed[0] = clock64() - begin;
  } else if (threadIdx.x == 32) {
    while (timer() - start < kNanoseconds) {
    }
    passed[1] = timer() - start;
  } else if (threadIdx.x == 64) {
    for (int i = 0; i < 1000; ++i) __nanosleep(200000);
    passed[2] = timer() - start;
  }
}

// Sleeps until the other block has done its work, for a second at most.
__global__ void wait_for_other(volatile int* work, int* answer) {
  if (blockIdx.x == 1) {
    for (int i = 0; i < 200000; ++i) work[1] += i;
    __threadfence();
    work[0] = 1;
    return;
  }
  const auto timer = [] {
    long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
  };
  const long long start = timer();
  while (work[0] == 0) {
    __nanosleep(1000000);
    if (timer() - start > 1000000000) return;
  }
  *answer = 1;
}

int main() {
  torture::Array<int> total(1), second(1), lock(2), order(96), sums(8);
  torture::Array<double> wide(1);
  lock_in_a_warp<<<2, 64>>>(total.get());
  torture::expect("lock_in_a_warp", total, {128});
  lock_and_leave<<<1, 32>>>(second.get(), lock.get());
  torture::expect("lock_and_leave", second, {96});
  lock_between_blocks<<<20, 32>>>(wide.get(), lock + 1);
  torture::expect("lock_between_blocks", wide, {190.0});
  ticket_lock<<<3, 32>>>(order.get());
  torture::expect("ticket_lock", order, std::vector<int>(96, 1));
  const auto in = torture::numbers_below<int>(200, 1, 1000);
  std::vector<int> want(8);
  for (const int value : in) want[value % 8] += value;
  torture::Array<int> din(in);
  bucket_locks<<<1, 64>>>(din, sums, 200);
  torture::expect("bucket_locks", sums, want);

  torture::Array<long long> passed(3);
  wait<<<1, 96>>>(passed);
  const auto times = passed.host();
  const auto is_near = [](long long time, long long least) {
    return time >= least && time < 4 * least;
  };
  // A GPU may sleep for twice as long as it is asked to, or less than that
  torture::report("waits", is_near(times[0], 200000000) && is_near(times[1], 100000000) &&
                             times[2] >= 20000000 && times[2] < 1000000000);

  torture::Array<int> work(2), answer(1);
  wait_for_other<<<2, 1>>>(work, answer);
  torture::expect("wait_for_other", answer, {1});
  return torture::finish();
}
