// SPDX-License-Identifier: Apache-2.0
// CHECK(call): ends the program with the line and CUDA's words when a call of the runtime fails.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    if (const cudaError_t error = (call); error != cudaSuccess) {                                  \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                           \
                   cudaGetErrorString(error));                                                     \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)
