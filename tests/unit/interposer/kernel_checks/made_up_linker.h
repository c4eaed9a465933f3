// SPDX-License-Identifier: Apache-2.0
// The driver's functions that compile a text, as a test wants them to answer.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "interposer/kernel_checks/interface.h"

namespace gmt::interposer::kernel_checks {

struct MadeUpLinker {
  bool knows_option = true;    // for several threads
  std::vector<unsigned> tried; // options of each try
  std::vector<std::string> texts{};
  std::string machine = "code"; // empty: it cannot be compiled
  CUresult refusal = CUDA_ERROR_INVALID_PTX;
  std::string log{};
};
extern MadeUpLinker linking;
// Null for other functions.
extern const decltype(KernelChecksCore::driver_symbol) function_of_linker;

} // namespace gmt::interposer::kernel_checks
