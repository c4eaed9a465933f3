// SPDX-License-Identifier: Apache-2.0
// --kernel-checks where two contexts of a device share a pool. A block is freed in a stream of the first one, which has
// the table, while that is busy; the pool gives it to a stream of the second one, and a checked kernel of the first uses
// it then. The mark of the free comes late, and must not be the last word: nothing here is a mistake.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: shared
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// options: check --kernel-checks
// expect: clean
#include "answers.h"
#include "driver_function.h"

__global__ void wait_for(const volatile int* go) {
  while (*go == 0) {
  }
}

__global__ void fill(int* a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    a[i] = i;
}

// Kernels run within their launches there: none may wait for the host.
static bool is_simulated() {
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, 0));
  return std::strstr(properties.name, "imulated") != nullptr;
}

static void enter(CUcontext context) {
  CHECK(driver_function<CUresult(CUcontext)>("cuCtxSetCurrent", 4000)(context));
}

struct Sides {
  CUcontext first, second;
  cudaStream_t busy, other; // of the first
  cudaStream_t elsewhere;   // of the second
  volatile int* go;
};

static void hand_over(const Sides& sides, int n, bool spins) {
  int* a = nullptr;
  cudaEvent_t freed, given;
  int* b = nullptr;
  *sides.go = 0;
  CHECK(cudaMallocAsync((void**)&a, n * sizeof(int), sides.busy));
  if (spins) wait_for<<<1, 1, 0, sides.busy>>>(sides.go);
  fill<<<32, 128, 0, sides.busy>>>(a, n);
  CHECK(cudaFreeAsync(a, sides.busy));
  CHECK(cudaEventCreateWithFlags(&freed, cudaEventDisableTiming));
  CHECK(cudaEventRecord(freed, sides.busy));
  enter(sides.second);
  CHECK(cudaStreamWaitEvent(sides.elsewhere, freed, 0));
  CHECK(cudaMallocAsync((void**)&b, n * sizeof(int), sides.elsewhere));
  CHECK(cudaEventCreateWithFlags(&given, cudaEventDisableTiming));
  CHECK(cudaEventRecord(given, sides.elsewhere));
  enter(sides.first);
  CHECK(cudaStreamWaitEvent(sides.other, given, 0));
  fill<<<32, 128, 0, sides.other>>>(b, n);
  *sides.go = 1;
  CHECK(cudaStreamSynchronize(sides.other));
  enter(sides.second);
  CHECK(cudaFreeAsync(b, sides.elsewhere));
  CHECK(cudaStreamSynchronize(sides.elsewhere));
  CHECK(cudaEventDestroy(given));
  enter(sides.first);
  CHECK(cudaEventDestroy(freed));
  CHECK(cudaStreamSynchronize(sides.busy));
}

int main() {
  Sides sides{};
  cudaMemPool_t pool;
  unsigned long long all = ~0ULL;
  CHECK(cudaSetDevice(0));
  CHECK(cudaHostAlloc((void**)&sides.go, sizeof(int), cudaHostAllocMapped));
  CHECK(cudaStreamCreateWithFlags(&sides.busy, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&sides.other, cudaStreamNonBlocking));
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
  fill<<<1, 32, 0, sides.other>>>(nullptr, 0); // loads the code
  CHECK(cudaStreamSynchronize(sides.other));
  CHECK(driver_function<CUresult(CUcontext*)>("cuCtxGetCurrent", 4000)(&sides.first));
  CHECK(driver_function<CUresult(CUcontext*, CUctxCreateParams*, unsigned, CUdevice)>("cuCtxCreate", 12050)(
    &sides.second, nullptr, 0, 0));
  CHECK(cudaStreamCreateWithFlags(&sides.elsewhere, cudaStreamNonBlocking));
  enter(sides.first);
  const bool spins = !is_simulated();
  for (int round = 0; round < 5; ++round)
    hand_over(sides, 100000 + round * 1000, spins);
  enter(sides.second);
  CHECK(cudaStreamDestroy(sides.elsewhere));
  CHECK(driver_function<CUresult(CUcontext)>("cuCtxDestroy", 4000)(sides.second));
  enter(sides.first);
  CHECK(cudaStreamDestroy(sides.busy));
  CHECK(cudaStreamDestroy(sides.other));
  CHECK(cudaFreeHost(const_cast<int*>(sides.go)));
  return 0;
}
