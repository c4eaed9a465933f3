// SPDX-License-Identifier: Apache-2.0
// --kernel-checks and pools that say what they give out, by the macros of <gpumemtrace/pool.h>: their regions are blocks.
// What they take back, kernels that were launched before still use rightly; a graph uses it whenever it runs.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: mistakes
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=24 message="right behind the end of 3.9 KiB of memory of a pool" stacks="accessed here"@fill:LINE(fill),"launched here"@mistakes:LINE(past),"allocated here"@take
// expect: error kernel-out-of-bounds count=24 message="right behind the end of 3.9 KiB of memory of a pool" stacks="accessed here"@fill_by_one:LINE(one),"launched here"@mistakes:LINE(by-one),"allocated here"@take
// expect: error kernel-out-of-bounds count=1 message="1,024 bytes before the beginning of 2.0 KiB of memory of a pool" stacks="accessed here"@first:LINE(first),"launched here"@mistakes:LINE(before),"allocated here"@take
// expect: error kernel-use-after-free count=1 message="at the beginning of memory that was already freed: 3.9 KiB of memory of a pool" stacks="accessed here"@first:LINE(first),"launched here"@mistakes:LINE(late),"freed here"@give_back,"allocated here"@take
// run: clean
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: clean
// not-checked: kernel-out-of-bounds
#include "answers.h"
#include "../../device_hooks/include/gpumemtrace/pool.h"

#undef NDEBUG
#include <cassert>
#include <cstring>

__global__ void fill(int* to, int n) { // n is ignored: that is the mistake
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = i + (n < 0); // @fill
}
__global__ void fill_by_one(int* to, int n) {
  for (int i = 0; i < n; ++i) to[i] = i; // @one
}
__global__ void first(int* to) { *to = 7; } // @first
// One pointer leads to two regions.
__global__ void both(int* to, int n, long other) {
  for (int i = 0; i < n; ++i) to[i] = to[other + i] = i;
}

constexpr size_t kBytes = 1 << 16;
static gpumemtrace_pool pool;

static int* take(char* at, size_t bytes) {
  GPUMEMTRACE_POOL_TAKE(pool, at, bytes);
  return reinterpret_cast<int*>(at);
}
static void give_back(int* at) { GPUMEMTRACE_POOL_GIVE_BACK(at); }

static void mistakes(char* base) {
  int *one = take(base, 4000), *other = take(base + 8192, 2000);
  fill<<<4, 256>>>(one, 1000); // @past
  fill_by_one<<<1, 1>>>(one, 1024); // @by-one
  first<<<1, 1>>>(other - 256); // @before
  give_back(one);
  first<<<1, 1>>>(one); // @late
  give_back(other);
  CHECK(cudaDeviceSynchronize());
}

static void reuse(char* base, cudaStream_t stream) {
  for (int round = 0; round < 8; ++round) {
    for (int n : {1, 127, 128, 129, 1000}) {
      int* block = take(base + 256 * (round % 3), n * sizeof(int));
      fill_by_one<<<1, 1, 0, stream>>>(block, n);
      give_back(block); // the next user of its memory comes behind it in the stream
    }
  }
  int *one = take(base, 4096), *other = take(base + 12288, 4096);
  both<<<1, 1, 0, stream>>>(one, 1024, 3072);
  give_back(one);
  give_back(other);
}

static void two_streams(char* base, cudaStream_t one, cudaStream_t other) {
  cudaEvent_t done;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  int* block = take(base, 4096);
  for (int round = 0; round < 4; ++round) {
    fill<<<4, 256, 0, one>>>(block, 1024);
    CHECK(cudaEventRecord(done, one));
    CHECK(cudaStreamWaitEvent(other, done, 0));
    fill<<<4, 256, 0, other>>>(block, 1024);
    give_back(block);
    block = take(base, 4096);
    CHECK(cudaEventRecord(done, other));
    CHECK(cudaStreamWaitEvent(one, done, 0));
  }
  give_back(block);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventDestroy(done));
}

static void graph(char* base, cudaStream_t stream) {
  cudaGraph_t captured;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  int* block = take(base, 4096);
  fill<<<4, 256, 0, stream>>>(block, 1024);
  give_back(block); // what it does to later users is theirs
  CHECK(cudaStreamEndCapture(stream, &captured));
  CHECK(cudaGraphInstantiate(&exec, captured, 0));
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(captured));
}

int main(int, char** argv) {
  const bool is_clean = std::strcmp(argv[1], "clean") == 0;
  char* base = nullptr;
  CHECK(cudaMalloc(&base, kBytes));
  fill<<<64, 256>>>(reinterpret_cast<int*>(base), kBytes / 4); // before there is a pool
  CHECK(cudaDeviceSynchronize());
  GPUMEMTRACE_POOL_CREATE(pool, base, kBytes);
  if (is_clean) {
    cudaStream_t one, other;
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreate(&other));
    reuse(base, one);
    CHECK(cudaDeviceSynchronize());
    reuse(base, nullptr);
    CHECK(cudaDeviceSynchronize());
    two_streams(base, one, other);
    reuse(base, other);
    CHECK(cudaDeviceSynchronize());
    graph(base, one);
    reuse(base, one);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(other));
  } else {
    mistakes(base);
  }
  GPUMEMTRACE_POOL_DESTROY(pool);
  fill<<<64, 256>>>(reinterpret_cast<int*>(base), kBytes / 4);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(base));
}
