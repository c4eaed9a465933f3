// SPDX-License-Identifier: Apache-2.0
// What the files behind code.h share: all modules and kernels that are known.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/kernel_table.h"

namespace gmt::interposer::kernel_checks {

// Modules and kernels are never taken away: another thread may have one in its hands.
struct Code {
  std::vector<std::unique_ptr<Module>> modules;
  KernelTable kernels;
  std::vector<std::unique_ptr<const Kernel>> all_kernels;
  std::vector<std::string> noted;
};
Code& code() noexcept; // whose lists are read and changed with the lock

// Null: it is not known.
Module* find_module(CUlibrary library) noexcept;
// Its own, or the library's whose instance it is in the current context. `kernel`: that it has;
// null: any.
Module* find_module(CUmodule handle, const char* kernel) noexcept;
// Of the checked form; null: there is none.
const rewriter::LaunchParameter* find_form(const Module& module, std::string_view kernel);

} // namespace gmt::interposer::kernel_checks
