// SPDX-License-Identifier: Apache-2.0
// Calls of CUDA as a C program without CUDA's headers has them, and mistakes made by them: each
// function makes those that its name says.
#pragma once

#include <stddef.h>

extern int cudaMalloc(void**, size_t), cudaFree(void*), cudaMemset(void*, int, size_t);
extern int cudaMemsetAsync(void*, int, size_t, void*), cudaMemcpy(void*, const void*, size_t, int);
extern int cudaStreamCreateWithFlags(void**, unsigned), cudaStreamSynchronize(void*);
extern int cudaEventCreate(void**), cudaEventRecord(void*, void*);
extern int cudaStreamWaitEvent(void*, void*, unsigned);
extern int cuModuleLoadData(void**, const char*), cuModuleGetFunction(void**, void*, const char*);
extern int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void*, void**, void**);

static void* leak(void) {
  void* p;
  cudaMalloc(&p, 12345);
  cudaMemset(p, 0, 5);
  return p;
}
static void twice(void) {
  void* p;
  cudaMalloc(&p, 333);
  cudaMemset(p, 0, 5);
  cudaFree(p);
  cudaFree(p);
}
static void after(void) {
  void* p;
  cudaMalloc(&p, 4096);
  cudaMemset(p, 0, 5);
  cudaFree(p);
  cudaMemset(p, 0, 8);
}
static void past(void) {
  void* p;
  cudaMalloc(&p, 100);
  cudaMemset(p, 0, 101);
  cudaFree(p);
}
