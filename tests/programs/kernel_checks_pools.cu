// SPDX-License-Identifier: Apache-2.0
// --kernel-checks and memory of pools, whose entries change in the order of streams: a block has its bytes and poison
// behind, a freed one is poison until the pool gives its memory out again, and memory of graphs is unknown. The simulated device has a
// pool's memory back at once, and says that of the late access, too.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: mistakes
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=24 message="right behind the end of" stacks="accessed here"@fill:LINE(fill),"launched here"@mistakes:LINE(past),"allocated here"@mistakes:LINE(block)
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@first:LINE(first),"launched here"@mistakes:LINE(past-own),"allocated here"@mistakes:LINE(own)
// expect: error kernel-use-after-free count=1 stacks="accessed here"@first:LINE(first),"launched here"@mistakes:LINE(late),"freed here"@mistakes:LINE(free),"allocated here"@mistakes:LINE(block)
// run: clean
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: clean
#include "answers.h"

#undef NDEBUG
#include <cassert>
#include <cstring>

__global__ void fill(int* to, int n) { // n is ignored: that is the mistake
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = i + (n < 0); // @fill
}
__global__ void fill_right(int* to, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = i;
}
__global__ void first(int* to) { *to = 7; } // @first

static int* allocate(int n, cudaStream_t stream) {
  int* block = nullptr;
  CHECK(cudaMallocAsync(&block, n * sizeof(int), stream));
  return block;
}

static cudaMemPool_t make_pool() {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  return pool;
}

static void mistakes(cudaStream_t stream) {
  int *block = nullptr, *own = nullptr;
  CHECK(cudaMallocAsync(&block, 1000 * sizeof(int), stream)); // @block
  fill<<<4, 256, 0, stream>>>(block, 1000); // @past
  cudaMemPool_t pool = make_pool();
  CHECK(cudaMallocFromPoolAsync(&own, 4, pool, stream)); // @own
  first<<<1, 1, 0, stream>>>(own + 1); // @past-own
  CHECK(cudaFreeAsync(block, stream)); // @free
  first<<<1, 1, 0, stream>>>(block); // @late
  CHECK(cudaFreeAsync(own, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolDestroy(pool));
}

// Each block is filled to its last element, and lies where another one was.
static void reuse(cudaStream_t one, cudaStream_t other) {
  cudaEvent_t done;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int round = 0; round < 40; ++round) {
    for (int n : {1, 127, 128, 129, 255, 257, 1000, 100000}) {
      int* block = allocate(n, one);
      fill_right<<<4, 256, 0, one>>>(block, n);
      CHECK(cudaEventRecord(done, one));
      CHECK(cudaStreamWaitEvent(other, done, 0));
      first<<<1, 1, 0, other>>>(block + n - 1);
      CHECK(cudaFreeAsync(block, other));
      if (round % 8 == 7) CHECK(cudaStreamSynchronize(other));
    }
  }
  int *kept = allocate(1000, one), last = 0;
  fill_right<<<4, 256, 0, one>>>(kept, 1000);
  CHECK(cudaMemcpyAsync(&last, kept + 999, sizeof last, cudaMemcpyDeviceToHost, one));
  CHECK(cudaStreamSynchronize(one));
  assert(last == 999);
  CHECK(cudaFree(kept)); // as cudaFreeAsync and a wait
  CHECK(cudaEventDestroy(done));
}

static void graph(cudaStream_t stream) {
  cudaGraph_t captured;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  int* block = allocate(1000, stream);
  fill_right<<<4, 256, 0, stream>>>(block, 1000);
  CHECK(cudaFreeAsync(block, stream));
  CHECK(cudaStreamEndCapture(stream, &captured));
  CHECK(cudaGraphInstantiate(&exec, captured, 0));
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(captured));
}

// A pool's memory goes back, and other memory may lie there.
static void trimmed(cudaStream_t stream) {
  cudaMemPool_t pool = make_pool();
  for (int round = 0; round < 3; ++round) {
    int *block = nullptr, *plain = nullptr;
    CHECK(cudaMallocFromPoolAsync(&block, 1 << 20, pool, stream));
    fill_right<<<4, 256, 0, stream>>>(block, 1 << 18);
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaMalloc(&plain, 1 << 20));
    fill_right<<<4, 256, 0, stream>>>(plain, 1 << 18);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(plain));
  }
  CHECK(cudaMemPoolDestroy(pool));
}

int main(int, char** argv) {
  cudaStream_t one, other;
  CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CHECK(cudaStreamCreate(&other));
  if (std::strcmp(argv[1], "mistakes") == 0) {
    mistakes(one);
  } else {
    reuse(one, other);
    reuse(other, nullptr);
    reuse(nullptr, cudaStreamPerThread);
    graph(one);
    trimmed(one);
    graph(one); // lies where that pool had memory, on an H100
    int* block = allocate(1000, nullptr);
    fill_right<<<4, 256>>>(block, 1000);
    CHECK(cudaFreeAsync(block, nullptr));
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamDestroy(one));
  CHECK(cudaStreamDestroy(other));
  return 0;
}
