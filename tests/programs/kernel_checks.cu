// SPDX-License-Identifier: Apache-2.0
// --kernel-checks: checks in the code of kernels. They name each mistaken access, the program goes on, and one run shows
// the mistakes of all kernels. On the simulated device its own checks are off here: what is found is found by the code.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: mistakes
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=24 message="right behind the end of" stacks="accessed here"@fill:LINE(fill),"launched here"@main:LINE(past),"allocated here"@main:LINE(block)
// expect: error kernel-out-of-bounds count=1 message="4 bytes before the beginning of" stacks="accessed here"@first:LINE(first),"launched here"@main:LINE(before),"allocated here"@main:LINE(block)
// expect: error kernel-use-after-free count=1 stacks="accessed here"@first:LINE(first),"launched here"@main:LINE(late),"freed here"@main:LINE(free),"allocated here"@main:LINE(old)
// expect: error kernel-misaligned count=1 stacks="accessed here"@wide:LINE(wide),"launched here"@main:LINE(misaligned),"allocated here"@main:LINE(block)
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@first:LINE(first),"launched here"@main:LINE(null)
// expect: error kernel-out-of-bounds count=1 message="past the end of 3.9 KiB" stacks="accessed here"@far_away:LINE(far_away),"launched here"@main:LINE(neighbour),"allocated here"@main:LINE(pair)
// expect: error kernel-out-of-bounds count=64 message="past the end of the variable rotated(int*, int)::part (256 bytes)" stacks="accessed here"@rotated:LINE(rotated),"launched here"@main:LINE(shared)
// expect: error kernel-out-of-bounds count=32 message="shared" stacks="accessed here"@reversed:LINE(reversed),"launched here"@main:LINE(too-few)
// expect: error kernel-out-of-bounds count=2 message="local" stacks="accessed here"@smallest:LINE(smallest),"launched here"@main:LINE(local)
// expect: error kernel-out-of-bounds count=1 message="32 bytes of static device memory" stacks="accessed here"@in_table:LINE(in_table),"launched here"@main:LINE(variable),"looked up here"@main:LINE(look-up)
// expect: error double-free count=1
// expect: error copy-out-of-bounds count=1 stacks="set here"@main:LINE(set-behind),"allocated here"@main:LINE(block)
// run: many
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=102400 stacks="accessed here"@past_all:LINE(past_all),"launched here"@main:LINE(many),"allocated here"@main:LINE(small)
// run: clean
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks=memory
// expect: clean
// run: clean libraries
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SANITIZER=/none/libsanitizer-public.so
// options: check --kernel-checks=libraries
// expect: clean
// not-checked: kernel-out-of-bounds
// run: graph
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=48 stacks="accessed here"@fill:LINE(fill),"captured here"@main:LINE(captured),"allocated here"@main:LINE(block)
// run: kinds
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=24 message="managed memory" stacks="accessed here"@fill:LINE(fill),"launched here"@run_kinds:LINE(past-managed),"allocated here"@run_kinds:LINE(managed)
// expect: error kernel-out-of-bounds count=1 message="pinned" stacks="accessed here"@first:LINE(first),"launched here"@run_kinds:LINE(past-pinned),"allocated here"@run_kinds:LINE(pinned)
// run: threads
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds message="right behind the end of" stacks="accessed here"@fill:LINE(fill),"launched here"@work_of_thread:LINE(thread-past),"allocated here"@work_of_thread:LINE(thread-block)
// expect: error kernel-use-after-free stacks="accessed here"@first:LINE(first),"launched here"@work_of_thread:LINE(thread-late),"freed here"@work_of_thread:LINE(thread-free),"allocated here"@work_of_thread:LINE(thread-block)
// run: reset
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=24 stacks="accessed here"@fill:LINE(fill),"launched here"@main:LINE(first-context),"allocated here"@main:LINE(block)
// expect: error kernel-out-of-bounds count=24 stacks="accessed here"@fill:LINE(fill),"launched here"@main:LINE(second-context),"allocated here"@main:LINE(again)
#include "answers.h"

#undef NDEBUG
#include <cassert>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

__device__ int table[8];
__constant__ int factor = 3;

__global__ void fill(int* to, int n) { // n is ignored: that is the mistake
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = i + (n < 0); // @fill
}
__global__ void first(int* to) { *to = 7; }                                     // @first
__global__ void wide(int* to) { *reinterpret_cast<int4*>(to + 1) = int4{}; }    // @wide
__global__ void past_all(char* bytes) { bytes[100 + threadIdx.x] = 1; }         // @past_all
__global__ void far_away(int* to, long step, int n) {
  for (int i = 0; i < n; ++i) to[i * step] = 1; // @far_away
}
__global__ void rotated(int* to, int by) {
  __shared__ int part[64];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  to[threadIdx.x] = part[threadIdx.x + by]; // @rotated
}
__global__ void reversed(int* to) {
  extern __shared__ int given[];
  given[threadIdx.x] = threadIdx.x; // @reversed
  __syncthreads();
  if (threadIdx.x < 32) to[threadIdx.x] = given[31 - threadIdx.x];
}
__global__ void smallest(int* to, int n) {
  int last[8] = {};
  for (int i = 0; i < n; ++i) last[to[i] & 15] = i; // @smallest
  for (int i = 0; i < 8; ++i) to[i] = last[i];
}
__global__ void in_table(long at) { table[at] = 7; } // @in_table
__global__ void sum(const int* a, const int* b, int* c, int n) {
  __shared__ int part[64];
  part[threadIdx.x] = table[threadIdx.x % 8] * factor;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    c[i] = a[i] + b[i] + part[63 - threadIdx.x];
}

static std::vector<int> on_host(const int* device, int n) {
  std::vector<int> to(n);
  CHECK(cudaMemcpy(to.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost));
  return to;
}

// All kinds of memory, sizes around a granule's, the last element of each.
static void run_clean() {
  const int numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(cudaMemcpyToSymbol(table, numbers, sizeof numbers));
  for (int n : {1, 127, 128, 129, 255, 256, 257, 1000, 100000}) {
    int *device = nullptr, *managed = nullptr, *pinned = nullptr;
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    CHECK(cudaMallocManaged(&managed, n * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
    for (int i = 0; i < n; ++i) managed[i] = i, pinned[i] = 2 * i;
    sum<<<3, 64>>>(managed, pinned, device, n);
    CHECK(cudaDeviceSynchronize());
    const std::vector<int> result = on_host(device, n);
    for (int i = 0; i < n; ++i) {
      const int thread = i % (3 * 64) % 64;
      assert(result[i] == 3 * i + numbers[(63 - thread) % 8] * 3);
    }
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(managed));
    CHECK(cudaFree(device));
  }
}

// Memory that the host uses, too: it is given back at once.
static void run_kinds() {
  int *managed = nullptr, *pinned = nullptr;
  CHECK(cudaMallocManaged(&managed, 1000 * sizeof(int))); // @managed
  CHECK(cudaMallocHost(&pinned, 12)); // @pinned
  fill<<<4, 256>>>(managed, 1000); // @past-managed
  first<<<1, 1>>>(pinned + 3); // @past-pinned
  first<<<1, 1>>>(pinned + 2);
  CHECK(cudaDeviceSynchronize());
  assert(managed[999] == 999 && pinned[2] == 7);
  CHECK(cudaFree(managed));
  CHECK(cudaFreeHost(pinned));
}

static void work_of_thread() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  for (int round = 0; round < 4; ++round) {
    int* block = nullptr;
    CHECK(cudaMalloc(&block, 1000 * sizeof(int))); // @thread-block
    fill<<<4, 256, 0, stream>>>(block, 1000); // @thread-past
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(block)); // @thread-free
    first<<<1, 1, 0, stream>>>(block); // @thread-late
    CHECK(cudaStreamSynchronize(stream));
  }
  CHECK(cudaStreamDestroy(stream));
}

int main(int, char** argv) {
  const char* run = argv[1];
  if (std::strcmp(run, "clean") == 0) {
    run_clean();
    return 0;
  }
  if (std::strcmp(run, "kinds") == 0) {
    run_kinds();
    return 0;
  }
  if (std::strcmp(run, "threads") == 0) { // whose first calls come at once
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(work_of_thread);
    for (std::thread& one : threads) one.join();
    return 0;
  }
  int *before = nullptr, *block = nullptr;
  CHECK(cudaMalloc(&before, 512)); // what lies behind it is poison, and lies before the next one
  CHECK(cudaMalloc(&block, 1000 * sizeof(int))); // @block
  if (std::strcmp(run, "mistakes") == 0) {
    int* old = nullptr;
    CHECK(cudaMalloc(&old, 4096)); // @old
    fill<<<4, 256>>>(block, 1000); // @past
    first<<<1, 1>>>(block - 1);    // @before
    wide<<<1, 1>>>(block);         // @misaligned
    first<<<1, 1>>>(nullptr);      // @null
    int* pair[2];
    for (int*& one : pair) CHECK(cudaMalloc(&one, 4000)); // @pair
    if (pair[0] > pair[1]) std::swap(pair[0], pair[1]);
    far_away<<<1, 1>>>(pair[0], pair[1] - pair[0], 2); // @neighbour
    for (int* one : pair) CHECK(cudaFree(one));
    rotated<<<1, 64>>>(block, 128);    // @shared
    reversed<<<1, 64, 32 * 4>>>(block); // @too-few
    const int indices[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 9, 4, 3, 2, 1};
    CHECK(cudaMemcpy(block + 64, indices, sizeof indices, cudaMemcpyHostToDevice));
    smallest<<<1, 1>>>(block + 64, 16); // @local
    CHECK(cudaDeviceSynchronize());
    void* of_table = nullptr;
    CHECK(cudaGetSymbolAddress(&of_table, table)); // @look-up
    in_table<<<1, 1>>>(block - static_cast<int*>(of_table)); // @variable
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(old)); // @free
    ANSWERS(cudaErrorInvalidValue, cudaFree(old)); // as without checks, though the memory rests
    (void)cudaGetLastError();
    first<<<1, 1>>>(old); // @late
    CHECK(cudaDeviceSynchronize());
    assert(on_host(block, 1000)[999] == 999);
    CHECK(cudaMemset(block + 1000, 0, 4)); // @set-behind
  } else if (std::strcmp(run, "many") == 0) {
    char* small = nullptr;
    CHECK(cudaMalloc(&small, 100)); // @small
    for (int i = 0; i < 400; ++i) past_all<<<1, 256>>>(small); // @many
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(small));
  } else if (std::strcmp(run, "graph") == 0) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    fill<<<4, 256, 0, stream>>>(block, 1000); // @captured
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
  } else {
    fill<<<4, 256>>>(block, 1000); // @first-context
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(block));
    CHECK(cudaFree(before));
    CHECK(cudaDeviceReset());
    CHECK(cudaMalloc(&before, 512));
    CHECK(cudaMalloc(&block, 1000 * sizeof(int))); // @again
    fill<<<4, 256>>>(block, 1000); // @second-context
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaFree(block));
  CHECK(cudaFree(before));
  return 0;
}
