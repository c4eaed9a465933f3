// SPDX-License-Identifier: Apache-2.0
// --kernel-checks=init: kernels that use global or shared memory that nothing wrote, found by checks in their code. On the
// simulated device its own checks are off here.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: mistakes
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks=init
// expect: warning kernel-uninitialized-read count=32 message="twice(float const*, float*, int) reads 4 bytes that nothing wrote at" stacks="accessed here"@twice:LINE(twice),"launched here"@main:LINE(nothing),"allocated here"@main:LINE(block)
// expect: warning kernel-uninitialized-read count=12 stacks="accessed here"@sum:LINE(sum),"launched here"@main:LINE(part),"allocated here"@main:LINE(block)
// expect: warning kernel-uninitialized-read count=1 stacks="accessed here"@choose:LINE(choose),"launched here"@main:LINE(chooses),"allocated here"@main:LINE(steps)
// expect: warning kernel-uninitialized-read count=32 stacks="accessed here"@twice:LINE(twice),"launched here"@main:LINE(again),"allocated here"@main:LINE(second)
// expect: warning kernel-uninitialized-read count=32 stacks="accessed here"@plus_one:LINE(plus),"launched here"@main:LINE(of-pool),"allocated here"@main:LINE(ordered)
// expect: warning kernel-uninitialized-read count=24 stacks="accessed here"@sum:LINE(sum),"launched here"@main:LINE(between-rows),"allocated here"@main:LINE(rows)
// expect: warning kernel-uninitialized-read count=12 message="shared memory" stacks="accessed here"@reversed:LINE(of-shared),"launched here"@main:LINE(shared)
// run: clean
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks=memory,heap,init --fail-on warning
// expect: clean
// not-checked: kernel-uninitialized-read
// run: threads
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks=init --fail-on warning
// expect: clean
// run: direction
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks=init
// expect: error copy-direction count=1 message="CUDA accepted it silently"
#include "answers.h"

#undef NDEBUG
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstring>
#include <thread>

constexpr int kCount = 32;
constexpr size_t kBytes = kCount * sizeof(float);

__device__ float table[kCount];

__global__ void twice(const float* from, float* to, int n) {
  const int i = threadIdx.x;
  if (i < n) to[i] = 2 * from[i]; // @twice
}
__global__ void sum(const float* from, float* to, int n) {
  float all = 0;
  for (int i = 0; i < n; ++i) all += from[i]; // @sum
  *to = all;
}
__global__ void choose(const int* steps, float* to) { if (steps[1] > 3) *to = 1; } // @choose
__global__ void plus_one(const float* from, float* to) { to[threadIdx.x] = from[threadIdx.x] + 1; } // @plus
__global__ void copy(const float* from, float* to) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void set(float* to, float value) { to[threadIdx.x] = value; }
__global__ void set_bytes(unsigned char* to) { to[threadIdx.x] = 0; }
__global__ void count_up(float* to) { atomicAdd(to + threadIdx.x % 4, 1.0f); }
__global__ void reversed(float* to, int written) {
  __shared__ float part[kCount];
  if (threadIdx.x < written) part[threadIdx.x] = 1;
  __syncthreads();
  to[threadIdx.x] = part[kCount - 1 - threadIdx.x] + 1; // @of-shared
}
__global__ void rotated(const float* from, float* to, int n) {
  extern __shared__ float given[];
  given[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = given[(threadIdx.x + n) % kCount] + 1;
}
__global__ void of_table(float* to) { to[threadIdx.x] = table[threadIdx.x] + 1; }

static float* allocate() {
  float* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes));
  return block;
}
static void use(const float* from, float* to) {
  twice<<<1, kCount>>>(from, to, kCount);
  sum<<<1, 1>>>(from, to, kCount);
  CHECK(cudaDeviceSynchronize());
  reversed<<<1, kCount>>>(to, kCount);
  rotated<<<1, kCount, kCount * sizeof(float)>>>(from, to, 3);
}

// Each of these writes all of a block.
static void run_clean() {
  float *to = allocate(), *from = allocate(), host[kCount] = {};
  CHECK(cudaMemcpy(from, host, kBytes, cudaMemcpyHostToDevice));
  use(from, to);
  CHECK(cudaFree(from));
  from = allocate();
  CHECK(cudaMemsetAsync(from, 0, kBytes));
  use(from, to);
  CHECK(cudaFree(from));
  from = allocate();
  set<<<1, kCount>>>(from, 1);
  use(from, to);
  CHECK(cudaFree(from));
  from = allocate();
  set_bytes<<<1, kBytes>>>(reinterpret_cast<unsigned char*>(from));
  use(from, to);
  CHECK(cudaFree(from));
  from = allocate();
  CHECK(cudaMemcpy2D(from, 16, host, 16, 16, kBytes / 16, cudaMemcpyHostToDevice));
  use(from, to);
  CHECK(cudaMemcpy(from, to, kBytes, cudaMemcpyDeviceToDevice));
  count_up<<<1, kCount>>>(from);
  of_table<<<1, kCount>>>(to);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(from));
  // A value that is only moved, and one that is not loaded
  from = allocate();
  copy<<<1, kCount>>>(from, to);
  twice<<<1, kCount>>>(from, to, 0);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(from));
  // By a graph
  from = allocate();
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemsetAsync(from, 0, kBytes, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  use(from, to);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  // The host writes; and memory of a pool that was followed is given out again, or as other memory
  float* managed = nullptr;
  CHECK(cudaMallocManaged(&managed, kBytes));
  memset(managed, 0, kBytes);
  use(managed, to);
  float* ordered = nullptr;
  for (size_t bytes : {kBytes, 4 * kBytes, kBytes}) {
    CHECK(cudaMallocAsync(&ordered, bytes, 0));
    CHECK(cudaFreeAsync(ordered, 0)); // nothing of it is written
    CHECK(cudaMallocAsync(&ordered, kBytes, 0));
    CHECK(cudaMemcpy2DAsync(ordered, 16, to, 16, 16, kBytes / 16, cudaMemcpyDeviceToDevice, 0));
    use(ordered, to);
    CHECK(cudaFreeAsync(ordered, 0));
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaFree(managed));
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
}

// One thread copies into a block while another one's graph makes all memory count as written.
static void run_threads() {
  constexpr int kRounds = 6, kBlocks = 128;
  float *to = allocate(), *blocks[kRounds][kBlocks], host[kCount] = {};
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < kRounds; ++round) {
    CHECK(cudaDeviceSynchronize()); // blocks that are given out while nothing runs are followed
    for (float*& block : blocks[round]) block = allocate();
    std::atomic<bool> is_ready{false};
    std::thread other([&] {
      is_ready = true;
      CHECK(cudaGraphLaunch(exec, stream));
    });
    while (!is_ready) {
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(5 * round);
    while (std::chrono::steady_clock::now() < until) {
    }
    float* last = blocks[round][kBlocks - 1]; // the other thread gets there last
    CHECK(cudaMemcpy(last, host, kBytes, cudaMemcpyHostToDevice));
    twice<<<1, kCount>>>(last, to, kCount);
    CHECK(cudaStreamSynchronize(0));
    other.join();
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  for (auto& round : blocks) {
    for (float* block : round) CHECK(cudaFree(block));
  }
  CHECK(cudaFree(to));
}

// CUDA makes this copy, whatever its direction says.
static void run_direction() {
  float *to = allocate(), *from = allocate();
  CHECK(cudaMemset(to, 0, kBytes));
  CHECK(cudaMemcpy(from, to, kBytes, cudaMemcpyDeviceToHost));
  use(from, to);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
}

int main(int argc, char** argv) {
  assert(argc == 2);
  if (strcmp(argv[1], "threads") == 0) {
    run_threads();
    return 0;
  }
  if (strcmp(argv[1], "direction") == 0) {
    run_direction();
    return 0;
  }
  if (strcmp(argv[1], "clean") == 0) {
    run_clean();
    CHECK(cudaDeviceSynchronize());
    return 0;
  }
  float* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes)); // @block
  float* to = allocate();
  twice<<<1, kCount>>>(block, to, kCount); // @nothing
  CHECK(cudaDeviceSynchronize()); // what is set from here on counts as written at once
  CHECK(cudaMemset(block, 0, 20 * sizeof(float)));
  sum<<<1, 1>>>(block, to, kCount); // @part
  CHECK(cudaDeviceSynchronize());
  int* steps = nullptr;
  CHECK(cudaMalloc(&steps, 8)); // @steps
  CHECK(cudaMemset(steps, 0, 4));
  choose<<<1, 1>>>(steps, to); // @chooses
  CHECK(cudaMemset(block, 0, kBytes));
  use(block, to);
  CHECK(cudaFree(block));
  float* second = nullptr;
  CHECK(cudaMalloc(&second, kBytes));       // @second
  twice<<<1, kCount>>>(second, to, kCount); // @again
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(second));
  float *ordered = nullptr, *rows = nullptr;
  CHECK(cudaMallocAsync(&ordered, kBytes, 0)); // @ordered
  plus_one<<<1, kCount>>>(ordered, to); // @of-pool
  CHECK(cudaFreeAsync(ordered, 0));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMalloc(&rows, kBytes)); // @rows
  CHECK(cudaMemset2D(rows, 16, 0, 4, kBytes / 16));
  sum<<<1, 1>>>(rows, to, kCount); // @between-rows
  CHECK(cudaDeviceSynchronize());
  reversed<<<1, kCount>>>(to, 20); // @shared
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(rows));
  CHECK(cudaFree(steps));
  CHECK(cudaFree(to));
}
