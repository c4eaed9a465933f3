// SPDX-License-Identifier: Apache-2.0
// What scenes of driver calls share: results go to stdout, handles to stderr, one a line.
#pragma once

#include <cstdio>

#include <cuda.h>

inline void say(const char* what, CUresult result) {
  std::printf("%s %d\n", what, static_cast<int>(result));
}

inline void print_handle(const char* what, unsigned long long handle) {
  std::fprintf(stderr, "%s %llx\n", what, handle);
}
inline void print_handle(const char* what, const void* handle) {
  std::fprintf(stderr, "%s %p\n", what, handle);
}

inline CUcontext start() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  cuInit(0);
  cuDeviceGet(&device, 0);
  cuDevicePrimaryCtxRetain(&context, device);
  cuCtxSetCurrent(context);
  return context;
}

inline CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr address = 0;
  cuMemAlloc(&address, bytes);
  return address;
}
