// SPDX-License-Identifier: Apache-2.0
// Kernels of one file run in two contexts: in the primary one and one made by the driver's API (contexts), or in those of two devices
// (devices). Each context has its own device heap and ring, its own copy of the module, and is measured by itself. Every kernel has to
// leave behind what it would alone.
//
// device hooks: all calls
// run: contexts
// expect: error device-heap-leak bytes=64 count=1 message="64 bytes of the device heap, allocated" stacks="allocated here"@leak:LINE(leak),"launched here"@work:LINE(launch)
// expect: error device-heap-leak bytes=128 count=1 message="ended its context" stacks="allocated here"@leak:LINE(leak),"launched here"@work:LINE(launch),"context ended here"@main:LINE(destroy)
// run: devices
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: error device-heap-leak bytes=64 count=1 message="64 bytes of the device heap of device 0," stacks="allocated here"@leak:LINE(leak),"launched here"@work:LINE(launch)
// expect: error device-heap-leak bytes=128 count=1 message="128 bytes of the device heap of device 1," stacks="allocated here"@leak:LINE(leak),"launched here"@work:LINE(launch)
// run: contexts quiet
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 message="measured in all 6 launches" line=LINE(load)
// run: devices quiet
// device: gpu
// devices: 2
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 message="measured in all 6 launches" line=LINE(load)
// run: devices quiet counted
// device: gpu
// devices: 2
// options: --counters
// expect: warning uncoalesced ratio=8 line=LINE(load)
#include "answers.h"
#include "driver_function.h"

constexpr unsigned kBlocks = 256, kThreads = 256, kValues = kBlocks * kThreads;
constexpr int kLaunches = 3;

__device__ void* kept; // so that the malloc stays

__global__ void leak(unsigned bytes)
{
  kept = malloc(bytes); // @leak
}

// Neighbours of a warp read from blocks of 32 bytes that lie far apart.
__global__ void add_far(const int* from, int* to)
{
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const int far = from[i % kBlocks * kThreads + i / kBlocks]; // @load
  to[i] += far;
}

struct Arrays {
  int *from = nullptr, *to = nullptr;
};

static Arrays make_arrays()
{
  Arrays a;
  CHECK(cudaMalloc(&a.from, kValues * sizeof(int)));
  CHECK(cudaMalloc(&a.to, kValues * sizeof(int)));
  CHECK(cudaMemset(a.from, 1, kValues * sizeof(int)));
  CHECK(cudaMemset(a.to, 0, kValues * sizeof(int)));
  return a;
}

__attribute__((noinline)) static void work(const Arrays& a, unsigned bytes)
{
  for (int i = 0; i < kLaunches; ++i)
    add_far<<<kBlocks, kThreads>>>(a.from, a.to);
  if (bytes != 0)
    leak<<<1, 1>>>(bytes); // @launch
  CHECK(cudaGetLastError());
}

// The work is done, and every launch has done its part.
static void check_and_free(const Arrays& a)
{
  int last = 0;
  CHECK(cudaMemcpy(&last, a.to + kValues - 1, sizeof last, cudaMemcpyDeviceToHost));
  ANSWERS(kLaunches * 0x01010101, last);
  CHECK(cudaFree(a.from));
  CHECK(cudaFree(a.to));
}

// What makes one or the other context current.
struct Contexts {
  bool devices;
  CUcontext contexts[2] = {};

  void make()
  {
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(nullptr));
    if (devices)
      return;
    CHECK(driver_function<CUresult(CUcontext*)>("cuCtxGetCurrent", 4000)(&contexts[0]));
    CHECK(driver_function<CUresult(CUcontext*, CUctxCreateParams*, unsigned, CUdevice)>("cuCtxCreate", 12050)(
      &contexts[1], nullptr, 0, 0));
  }
  void enter(int which) const
  {
    if (devices)
      CHECK(cudaSetDevice(which));
    else
      CHECK(driver_function<CUresult(CUcontext)>("cuCtxSetCurrent", 4000)(contexts[which]));
  }
};

int main(int argc, char** argv)
{
  Contexts all{started_with(argc, argv, "devices")};
  const bool quiet = argc > 2;
  all.make();
  Arrays arrays[2];
  for (int which : {0, 1}) {
    all.enter(which);
    arrays[which] = make_arrays();
  }
  for (int which : {0, 1}) { // both work at the same time
    all.enter(which);
    work(arrays[which], quiet ? 0 : 64u << which);
  }
  for (int which : {0, 1}) {
    all.enter(which);
    check_and_free(arrays[which]);
  }
  if (!all.devices) {
    CHECK(driver_function<CUresult(CUcontext)>("cuCtxDestroy", 4000)(all.contexts[1])); // @destroy
    all.enter(0);
  }
  return 0;
}
