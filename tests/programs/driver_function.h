// SPDX-License-Identifier: Apache-2.0
// Functions of the driver for programs that are linked to the runtime alone.
#pragma once

#include "answers.h"

#include <cuda.h>
#include <cuda_runtime.h>

// The function in its form of CUDA `version`, such as 12050; `Function` is its type.
template <class Function> Function* driver_function(const char* name, int version)
{
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  CHECK(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result));
  return reinterpret_cast<Function*>(found);
}
