// SPDX-License-Identifier: Apache-2.0
// --kernel-checks inside the cache of PyTorch's allocator, which says what it gives out of a segment and takes back: what it
// has not given out is poison. The program reports as that allocator does; PyTorch itself: tests/gpu/torch_mistakes.py.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: mistakes
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=32 message="right behind the end of the 1.0 KiB block of a tensor made at kernel_checks_tensors.cu" stacks="accessed here"@fill:LINE(fill),"launched here"@mistakes:LINE(past),"allocated here"@take
// expect: error kernel-use-after-free count=1 message="the 4.0 KiB block of a tensor made at kernel_checks_tensors.cu" stacks="accessed here"@follow:LINE(follow),"launched here"@mistakes:LINE(late),"allocated here"@take
// run: clean
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: clean
// not-checked: kernel-out-of-bounds
// run: sampled
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks-sample
// expect: clean
// not-checked: kernel-out-of-bounds
#include "answers.h"

#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <dlfcn.h>

struct Device { // c10::Device
  std::int8_t type, index;
};

__global__ void fill(int* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = i; // @fill
}
__global__ void follow(int** to) { **to = 7; } // @follow

static char* segment;

static void say(void* block, std::int64_t bytes) {
  using Report = void(void*, std::int64_t, std::size_t, std::size_t, Device);
  static const auto report =
    reinterpret_cast<Report*>(dlsym(RTLD_DEFAULT, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"));
  if (report != nullptr) report(block, bytes, 0, 0, {1, 0});
}
static int* take(std::size_t offset, std::int64_t bytes) {
  say(segment + offset, bytes);
  return reinterpret_cast<int*>(segment + offset);
}
static void give_back(int* block, std::int64_t bytes) { say(block, -bytes); }

static void mistakes() {
  int* small = take(0, 1024);
  fill<<<3, 128>>>(small, 256 + 32); // @past
  int* gone = take(8192, 4096);
  int** named = reinterpret_cast<int**>(take(16384, 512));
  CHECK(cudaMemcpy(named, &gone, sizeof gone, cudaMemcpyHostToDevice));
  give_back(gone, 4096);
  follow<<<1, 1>>>(named); // @late
  CHECK(cudaDeviceSynchronize());
}

// Blocks of other sizes come and go at the same address while kernels may still run.
static void reuse(cudaStream_t stream) {
  for (int round = 0; round < 20; ++round) {
    for (int granules : {1, 7, 8, 3}) {
      int* block = take(4096, granules * 512);
      fill<<<granules, 128, 0, stream>>>(block, granules * 128);
      give_back(block, granules * 512);
    }
  }
}

// A graph uses what it was captured with, whatever the allocator has done with it since.
static void graph(cudaStream_t stream) {
  cudaGraph_t captured;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  int* block = take(65536, 4096);
  fill<<<8, 128, 0, stream>>>(block, 1024);
  give_back(block, 4096);
  CHECK(cudaStreamEndCapture(stream, &captured));
  CHECK(cudaGraphInstantiate(&exec, captured, 0));
  give_back(take(65536, 512), 512);
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(captured));
}

// A sample does not look into the cache: it would cost what it must not.
static void sampled() {
  int* small = take(0, 1024);
  for (int i = 0; i < 100; ++i) {
    fill<<<3, 128>>>(small, 256 + 32);
    CHECK(cudaDeviceSynchronize());
  }
}

static void clean() {
  cudaStream_t one, other;
  cudaEvent_t done;
  CHECK(cudaStreamCreate(&one));
  CHECK(cudaStreamCreate(&other));
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  reuse(one);
  // Dropped while another stream still uses it, and not given out again until that is done.
  int* lent = take(32768, 8192);
  fill<<<16, 128, 0, one>>>(lent, 2048);
  CHECK(cudaEventRecord(done, one));
  CHECK(cudaStreamWaitEvent(other, done, 0));
  fill<<<16, 128, 0, other>>>(lent, 2048);
  give_back(lent, 8192);
  fill<<<1, 128, 0, one>>>(take(0, 512), 128);
  CHECK(cudaDeviceSynchronize());
  reuse(other);
  graph(one);
  reuse(one);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamDestroy(one));
  CHECK(cudaStreamDestroy(other));
  CHECK(cudaEventDestroy(done));
}

int main(int, char** arguments) {
  CHECK(cudaMalloc(&segment, 2 << 20));
  switch (arguments[1][0]) {
  case 'm': mistakes(); break;
  case 's': sampled(); break;
  default: clean();
  }
  CHECK(cudaFree(segment));
  return 0;
}
