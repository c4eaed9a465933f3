// SPDX-License-Identifier: Apache-2.0
// Waits that look at a clock between their tries. Those that end by the time alone are silent; those that never end are
// named though their state is another one at each turn.
//
// compute capability: 90
//
// run: barrier
// unlike-fenced: a mapping may be shared with another process, which could change what a kernel polls
// device: simulated
// expect: error kernel-hang count=1 message="waits for 1 arrival more" stacks="waited here"@one_short,"launched here"@main:LINE(barrier)
// not-checked: leak
// run: called
// device: simulated
// expect: error kernel-hang count=1 message="waits for 1 arrival more" stacks="waited here"@wait_for_all,"launched here"@main:LINE(called)
// not-checked: leak
// run: bytes
// device: simulated
// expect: error kernel-hang count=1 message="expects 16 bytes more than copies have brought"
// not-checked: leak
// run: latch
// device: simulated
// expect: error kernel-hang count=1 message="polls shared memory"
// not-checked: leak
// run: semaphore
// device: simulated
// expect: error kernel-hang count=1 stacks="waited here"@acquire_all,"launched here"@main:LINE(acquired),"allocated here"@main:LINE(semaphore)
// not-checked: leak
// run: atomic
// device: simulated
// expect: error kernel-hang count=1 stacks="waited here"@wait_for_change,"launched here"@main:LINE(changed),"allocated here"@main:LINE(flag)
// not-checked: leak
// run: delays
// device: simulated
// expect: error kernel-hang count=1 stacks="waited here"@poll_slowly:LINE(slowly),"launched here"@main:LINE(slow),"allocated here"@main:LINE(flag)
// not-checked: leak
// run: delays full
// device: simulated
// options: --device-checks full --device-seed 3
// expect: error kernel-hang count=1 stacks="waited here"@poll_slowly:LINE(slowly),"launched here"@main:LINE(slow),"allocated here"@main:LINE(flag)
// not-checked: leak
// run: ends
// device: simulated
// expect: clean
// run: ends full
// device: simulated
// options: --device-checks full --device-seed 3
// expect: clean
#include "answers.h"

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>

#include <new>

constexpr auto kBlock = cuda::thread_scope_block;
constexpr auto kDevice = cuda::thread_scope_device;
using Barrier = cuda::barrier<kBlock>;
using Semaphore = cuda::counting_semaphore<kDevice>;

constexpr int kThreads = 64;
constexpr long long kMillisecond = 1980000; // of clock64()

__device__ void make(Barrier* barrier, int others)
{
  if (threadIdx.x == 0) init(barrier, static_cast<int>(blockDim.x) + others);
  __syncthreads();
}

__global__ void one_short(int* result, int others)
{
  __shared__ alignas(Barrier) char room[sizeof(Barrier)];
  auto* barrier = reinterpret_cast<Barrier*>(room);
  make(barrier, others);
  barrier->arrive_and_wait();
  if (threadIdx.x == 0) *result += 1;
}

__device__ __noinline__ void wait_for_all(Barrier* barrier) { barrier->arrive_and_wait(); }

__global__ void one_short_called(int* result)
{
  __shared__ alignas(Barrier) char room[sizeof(Barrier)];
  auto* barrier = reinterpret_cast<Barrier*>(room);
  make(barrier, 1);
  wait_for_all(barrier);
  if (threadIdx.x == 0) *result += 1;
}

__global__ void copied(const int* from, int* result, int more)
{
  __shared__ alignas(16) int tile[kThreads];
  __shared__ alignas(Barrier) char room[sizeof(Barrier)];
  auto* barrier = reinterpret_cast<Barrier*>(room);
  make(barrier, 0);
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, from, cuda::aligned_size_t<16>(sizeof tile), *barrier);
    token = cuda::device::barrier_arrive_tx(*barrier, 1, sizeof tile + more);
  } else {
    token = barrier->arrive();
  }
  barrier->wait(std::move(token));
  if (threadIdx.x == 0) *result += 1 + tile[1];
}

__global__ void count_down(int* result, int others)
{
  __shared__ alignas(8) char room[sizeof(cuda::latch<kBlock>)];
  auto* latch = reinterpret_cast<cuda::latch<kBlock>*>(room);
  if (threadIdx.x == 0) new (latch) cuda::latch<kBlock>(blockDim.x + others);
  __syncthreads();
  latch->arrive_and_wait();
  if (threadIdx.x == 0) *result += 1;
}

__global__ void make(Semaphore* semaphore, int count) { new (semaphore) Semaphore(count); }

__global__ void acquire_all(Semaphore* semaphore, int* result)
{
  semaphore->acquire();
  if (threadIdx.x == 0) *result += 1;
}

__global__ void wait_for_change(int* flag, int* result, bool sets)
{
  cuda::atomic_ref<int, kDevice> all(*flag);
  if (blockIdx.x == 1) {
    if (sets && threadIdx.x == 0) {
      all.store(1, cuda::memory_order_release);
      all.notify_all();
    }
    return;
  }
  all.wait(0, cuda::memory_order_acquire);
  if (threadIdx.x == 0) *result += 1;
}

// The time decides when it looks again, and nothing else.
__global__ void poll_slowly(volatile int* flag, int* result)
{
  while (*flag == 0) { // @slowly
    const long long begin = clock64();
    while (clock64() - begin < kMillisecond) {}
  }
  *result += 1;
}

// ---------------------------------------------------------------- waits that end

__global__ void try_for(Semaphore* semaphore, int* result)
{
  const bool has = semaphore->try_acquire_for(cuda::std::chrono::milliseconds(20));
  if (threadIdx.x == 0) *result += has ? 2 : 1;
}

__global__ void wait_for(int* result)
{
  __shared__ alignas(Barrier) char room[sizeof(Barrier)];
  auto* barrier = reinterpret_cast<Barrier*>(room);
  make(barrier, 1);
  auto token = barrier->arrive();
  const bool has = barrier->try_wait_for(std::move(token), cuda::std::chrono::milliseconds(20));
  if (threadIdx.x == 0) *result += has ? 2 : 1;
}

__global__ void tries(int* result)
{
  __shared__ alignas(Barrier) char room[sizeof(Barrier)];
  auto* barrier = reinterpret_cast<Barrier*>(room);
  make(barrier, 1);
  static_cast<void>(barrier->arrive());
  int count = 0;
  while (!barrier->try_wait_parity_for(false, cuda::std::chrono::milliseconds(10)) && ++count < 5) {}
  if (threadIdx.x == 0) *result += count == 5;
}

__global__ void own_timeout(volatile int* flag, int* result)
{
  const long long begin = clock64();
  bool is_late = false;
  while (*flag == 0 && !is_late) {
    if (clock64() - begin > 2000 * kMillisecond) is_late = true;
    __nanosleep(100);
  }
  if (threadIdx.x == 0) *result += is_late;
}

// It gives up after 500 looks, with a millisecond between them.
__global__ void count_looks(volatile int* flag, int* result)
{
  int count = 0;
  while (*flag == 0 && count < 500) {
    const long long begin = clock64();
    while (clock64() - begin < kMillisecond) {}
    ++count;
  }
  if (threadIdx.x == 0) *result += count == 500;
}

// The loop inside ends by its count alone. The caller's ends by the time that it returns.
__device__ __noinline__ long long look_for_a_while(volatile int* flag)
{
  long long now = 0;
  for (int count = 0; count < 16 && *flag == 0; ++count) {
    now = clock64();
    __nanosleep(100);
  }
  return now;
}

__global__ void timeout_of_caller(volatile int* flag, int* result)
{
  const long long begin = clock64();
  while (look_for_a_while(flag) - begin < 1000 * kMillisecond) {}
  if (threadIdx.x == 0) *result += 1;
}

// One block waits for another that gives up at a time.
__global__ void set_late(int* flag, int* result)
{
  cuda::atomic_ref<int, kDevice> all(*flag);
  if (blockIdx.x == 1) {
    const long long begin = clock64();
    while (clock64() - begin < 500 * kMillisecond) {}
    if (threadIdx.x == 0) all.store(1, cuda::memory_order_release);
    return;
  }
  while (all.load(cuda::memory_order_acquire) == 0) {
    const long long begin = clock64();
    while (clock64() - begin < kMillisecond) {}
  }
  if (threadIdx.x == 0) *result += 1;
}

int main(int argc, char** argv)
{
  const auto is = [&](const char* word) { return started_with(argc, argv, word); };
  int *flag = nullptr, *result = nullptr;
  Semaphore* semaphore = nullptr;
  CHECK(cudaMalloc(&flag, 4 * kThreads)); // @flag
  CHECK(cudaMalloc(&result, 4));
  CHECK(cudaMalloc(&semaphore, sizeof(Semaphore))); // @semaphore
  CHECK(cudaMemset(flag, 0, 4 * kThreads));
  CHECK(cudaMemset(result, 0, 4));
  make<<<1, 1>>>(semaphore, kThreads - 1);
  if (is("barrier")) one_short<<<1, kThreads>>>(result, 1); // @barrier
  if (is("called")) one_short_called<<<1, kThreads>>>(result); // @called
  if (is("bytes")) copied<<<1, kThreads>>>(flag, result, 16);
  if (is("latch")) count_down<<<1, kThreads>>>(result, 1);
  if (is("semaphore")) acquire_all<<<1, kThreads>>>(semaphore, result); // @acquired
  if (is("atomic")) wait_for_change<<<2, kThreads>>>(flag, result, false); // @changed
  if (is("delays")) poll_slowly<<<1, kThreads>>>(flag, result); // @slow
  if (!is("ends")) {
    ANSWERS(cudaErrorLaunchTimeout, cudaDeviceSynchronize());
    return 0;
  }
  one_short<<<1, kThreads>>>(result, 0);
  copied<<<1, kThreads>>>(flag, result, 0);
  count_down<<<1, kThreads>>>(result, 0);
  acquire_all<<<1, kThreads - 1>>>(semaphore, result);
  try_for<<<1, 1>>>(semaphore, result);
  wait_for<<<1, kThreads>>>(result);
  tries<<<1, kThreads>>>(result);
  own_timeout<<<1, kThreads>>>(flag, result);
  count_looks<<<1, kThreads>>>(flag, result);
  timeout_of_caller<<<1, kThreads>>>(flag, result);
  set_late<<<2, kThreads>>>(flag, result);
  CHECK(cudaMemset(flag, 0, 4));
  wait_for_change<<<2, kThreads>>>(flag, result, true);
  int count = 0;
  CHECK(cudaMemcpy(&count, result, 4, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(semaphore));
  CHECK(cudaFree(result));
  CHECK(cudaFree(flag));
  std::printf("%d\n", count);
  return count == 12 ? 0 : 4;
}
