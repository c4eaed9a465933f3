// SPDX-License-Identifier: Apache-2.0
// What the unit tests of the simulated device share: a checked allocation and the driver's VMM
// functions. Driver functions come from cudaGetDriverEntryPointByVersion, so the tests link the
// runtime only.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

inline void* allocate(size_t bytes) {
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, bytes), cudaSuccess);
  return pointer;
}

template <class Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &function, 13000, cudaEnableDefault, &found),
            cudaSuccess);
  EXPECT_NE(function, nullptr) << name;
  return reinterpret_cast<Function>(function);
}

#define DRIVER_FUNCTION(name) driver_function<decltype(&::name)>(#name)

struct Vmm {
  Vmm() { cudaFree(nullptr); }
  decltype(&::cuMemAddressReserve) reserve = DRIVER_FUNCTION(cuMemAddressReserve);
  decltype(&::cuMemAddressFree) free_address = DRIVER_FUNCTION(cuMemAddressFree);
  decltype(&::cuMemCreate) create = DRIVER_FUNCTION(cuMemCreate);
  decltype(&::cuMemRelease) release = DRIVER_FUNCTION(cuMemRelease);
  decltype(&::cuMemMap) map = DRIVER_FUNCTION(cuMemMap);
  decltype(&::cuMemUnmap) unmap = DRIVER_FUNCTION(cuMemUnmap);
  decltype(&::cuMemSetAccess) set_access = DRIVER_FUNCTION(cuMemSetAccess);
};
