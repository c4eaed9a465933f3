// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/patches/patched_functions.h"

#include <algorithm>

#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"

namespace gmt::interposer::kernel_checks {

namespace {

constinit Lasting<std::vector<PatchedFunction>> functions_with_patches; // with the library's lock

} // namespace

void keep_function(const std::string& name, CUmodule module, const Kernel* kernel) noexcept {
  const Locked lock;
  std::vector<PatchedFunction>& all = *functions_with_patches;
  const bool is_known = std::ranges::any_of(all, [&](const PatchedFunction& one) {
    return one.module == module && one.kernel == kernel && one.name == name;
  });
  if (!is_known) all.push_back({name, module, kernel, 0, 0});
}

std::vector<PatchedFunction> patched_functions() noexcept {
  const Locked lock;
  return *functions_with_patches;
}

void forget_functions(CUmodule module) noexcept {
  const Locked lock;
  std::erase_if(*functions_with_patches,
                [module](const PatchedFunction& one) { return one.module == module; });
}

void abandon_functions() noexcept { functions_with_patches.begin_anew(); }

} // namespace gmt::interposer::kernel_checks
