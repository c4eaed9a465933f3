// SPDX-License-Identifier: Apache-2.0
// Launches each kernel of kinds.cu once with its mistake, by the driver's interface.
// launches TEXT
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

static void check(CUresult result, int line) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "line %d: %d\n", line, static_cast<int>(result));
  std::exit(3);
}
#define CHECK(call) check(call, __LINE__)

constexpr unsigned kThreads = 32;
static CUmodule module;

static void launch(const char* kernel, CUdeviceptr to, int n, unsigned threads = 1,
                   unsigned shared = 0) {
  CUfunction function = nullptr;
  CHECK(cuModuleGetFunction(&function, module, kernel));
  void* parameters[] = {&to, &n};
  CHECK(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, shared, nullptr, parameters, nullptr));
  CHECK(cuCtxSynchronize());
}

int main(int, char** arguments) {
  std::ifstream file(arguments[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, text.c_str()));
  CUdeviceptr first = 0, second = 0, old = 0;
  CHECK(cuMemAlloc(&old, 4000));
  CHECK(cuMemAlloc(&first, 4000));
  CHECK(cuMemAlloc(&second, 4000));
  if (second < first) std::swap(first, second); // what is before the upper one is known
  CHECK(cuMemsetD8(first, 0, 4000));
  CHECK(cuMemsetD8(second, 0, 4000));
  CHECK(cuMemFree(old));
  launch("behind", first, 1024, kThreads);
  launch("before", second, 2);
  launch("negative", second, -100);
  launch("far", first, 3);
  launch("neighbour", first, static_cast<int>((second - first) / sizeof(int)));
  launch("null", 0, 3);
  launch("freed", old, 10);
  launch("misaligned", first, 1);
  launch("of_shared", first, 16, kThreads);
  launch("of_dynamic", first, 8, kThreads, kThreads * sizeof(int));
  launch("of_local", first, 400);
  launch("of_heap", first, 17);
  CHECK(cuMemFree(first));
  CHECK(cuMemFree(second));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
}
