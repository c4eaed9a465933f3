// SPDX-License-Identifier: Apache-2.0
// A program with the runtime linked in, as nvcc builds by default. It ends with 0 if its calls
// reach a device, and with 3 if its own runtime finds none; check_static_runtime.sh says where
// which is right. With WITH_LIBRARY and WITH_DLOPEN the calls are those of a shared library that
// has the runtime.
#include <cuda_runtime.h>

#include <cstdio>

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

#ifndef LIBRARY
// Before main: a runtime has to be redirected before any constructor runs.
static const int before_main = use_device();

int main() { return before_main != 0 ? before_main : use_device(); }
#endif
