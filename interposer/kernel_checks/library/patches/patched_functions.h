// SPDX-License-Identifier: Apache-2.0
// The kernels that were launched with patches, by their modules: what an instruction is called by.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

#include "interposer/kernel_checks/library/code.h"

namespace gmt::interposer::kernel_checks {

struct PatchedFunction {
  std::string name; // as linked
  CUmodule module = nullptr;
  const Kernel* kernel = nullptr;  // null: a graph launches it
  std::uint64_t pc = 0, bytes = 0; // where its code is, if that was asked for
};

void keep_function(const std::string& name, CUmodule module, const Kernel* kernel) noexcept;
std::vector<PatchedFunction> patched_functions() noexcept;
void forget_functions(CUmodule module) noexcept; // which is about to be unloaded
void abandon_functions() noexcept;               // in a forked child

} // namespace gmt::interposer::kernel_checks
