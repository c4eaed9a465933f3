// SPDX-License-Identifier: Apache-2.0
// CHECK(call): ends the program with status 3 if a function of CUDA's runtime fails, and says which.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const cudaError_t error_ = (call);                                                             \
    if (error_ != cudaSuccess) {                                                                   \
      std::printf("%s: %s\n", #call, cudaGetErrorName(error_));                                    \
      std::exit(3);                                                                                \
    }                                                                                              \
  } while (false)
