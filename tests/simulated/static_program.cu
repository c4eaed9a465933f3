// SPDX-License-Identifier: Apache-2.0
// A program with the runtime linked in, as nvcc builds by default. It ends with 0 if its calls
// reach a device, and with 3 if its own runtime finds none; check_static_runtime.sh says where
// which is right. With WITH_LIBRARY and WITH_DLOPEN the calls are those of a shared library that
// has the runtime; with WITH_THREAD a thread makes those about memory once more, whose stack is
// as small as one may be.
#include <cuda_runtime.h>

#include <cstdio>
#include <pthread.h>

#ifdef WITH_LIBRARY
extern "C" int use_device();
#elif defined(WITH_DLOPEN)
#include <dlfcn.h>

static int use_device() {
  void* const library = dlopen("libstatic_kernels.so", RTLD_NOW);
  if (library == nullptr) return 7;
  return reinterpret_cast<int (*)()>(dlsym(library, "use_device"))();
}
#else

__device__ int shared_number = 3;
__global__ void kernel() { shared_number = 4; }

extern "C" int use_device() {
  void* pointer = nullptr;
  const cudaError_t error = cudaMalloc(&pointer, 100);
  std::printf("cudaMalloc: %d %s\n", static_cast<int>(error), cudaGetErrorString(error));
  if (error != cudaSuccess) return 3;
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) return 4;
  kernel<<<1, 1>>>();
  int number = 0;
  if (cudaMemcpyFromSymbol(&number, shared_number, sizeof number) != cudaSuccess) return 5;
  return cudaFree(pointer) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess ? 0 : 6;
}
#endif

#ifdef WITH_THREAD
static void* on_thread(void* answer) {
  void* pointer = nullptr;
  int number = 0;
  bool is_right = cudaMalloc(&pointer, 100) == cudaSuccess;
  is_right &= cudaMemcpyFromSymbol(&number, shared_number, sizeof number) == cudaSuccess;
  is_right &= cudaFree(pointer) == cudaSuccess && number == 4;
  *static_cast<bool*>(answer) = is_right;
  return nullptr;
}

static bool use_device_on_thread() {
  pthread_attr_t attributes;
  pthread_t thread;
  bool is_right = false;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, 16384) != 0) return false;
  if (pthread_create(&thread, &attributes, on_thread, &is_right) != 0) return false;
  pthread_join(thread, nullptr);
  return is_right;
}
#else
static bool use_device_on_thread() { return true; }
#endif

#ifndef LIBRARY
// Before main: a runtime has to be redirected before any constructor runs.
static const int before_main = use_device();

int main() {
  if (before_main != 0) return before_main;
  if (const int answer = use_device(); answer != 0) return answer;
  return use_device_on_thread() ? 0 : 8;
}
#endif
