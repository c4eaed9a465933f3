// SPDX-License-Identifier: Apache-2.0
// What launches ask of kernels: which form there is, and what it takes from the other one.
#include "interposer/kernel_checks/library/code.h"

#include <algorithm>
#include <utility>

#include "interposer/kernel_checks/library/choice.h"
#include "interposer/kernel_checks/library/code_store.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lock.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr char kNotWatched[] = "its module came from a call that is not watched";

std::string reason_of(const Module& module, const std::string& kernel) {
  if (!module.why_plain.empty()) return module.why_plain;
  for (const rewriter::Unchecked& one : module.code.unchecked) {
    if (one.function == kernel) return one.reason;
  }
  if (!is_chosen(kernel)) return kNotChosen;
  return "it has no checked form";
}

std::string checked_name(const std::string& kernel) {
  return std::string(rewriter::kChecked) + kernel;
}

void resolve(CUfunction function, Kernel& kernel) {
  CUlibrary library = nullptr;
  CUmodule module = nullptr;
  const char* name = nullptr;
  const auto as_kernel = reinterpret_cast<CUkernel>(function);
  if (driver.library_of(&library, as_kernel) == 0) kernel.module = find_module(library);
  kernel.is_kernel = kernel.module != nullptr;
  if (driver.function_name(&name, function) == 0 || driver.kernel_name(&name, as_kernel) == 0)
    kernel.name = name;
  if (!kernel.is_kernel && driver.module_of(&module, function) == 0)
    kernel.module = find_module(module, name);
  // A library's instance was looked for in the current context.
  if (!kernel.is_kernel && kernel.module != nullptr) {
    kernel.context = kernel.module->context;
    if (kernel.context == nullptr) driver.current(&kernel.context);
  }
  const auto* form = kernel.module != nullptr ? find_form(*kernel.module, kernel.name) : nullptr;
  if (form == nullptr) {
    kernel.why_plain =
      kernel.module == nullptr ? kNotWatched : reason_of(*kernel.module, kernel.name);
    return;
  }
  kernel.launch_parameter = *form;
  const std::string checked = checked_name(kernel.name);
  if (kernel.is_kernel) {
    CUkernel found = nullptr;
    if (driver.kernel(&found, library, checked.c_str()) == 0)
      kernel.checked = reinterpret_cast<CUfunction>(found);
  } else {
    driver.function(&kernel.checked, module, checked.c_str());
  }
  if (kernel.checked == nullptr) kernel.why_plain = "its checked form was not found";
}

int attribute_of(const Kernel& kernel, CUfunction form, CUfunction_attribute what,
                 CUdevice device) {
  int value = -1;
  if (kernel.is_kernel)
    driver.kernel_attribute(&value, what, reinterpret_cast<CUkernel>(form), device);
  else driver.function_attribute(&value, what, form);
  return value;
}

// It has checks, but not of all that was asked for: each reason once.
void note_gaps(const Kernel& kernel) noexcept {
  if (kernel.checked == nullptr || kernel.module == nullptr) return;
  const std::vector<rewriter::Unchecked>& all = kernel.module->code.unchecked;
  for (auto one = all.begin(); one != all.end(); ++one) {
    const auto is_same = [&one](const rewriter::Unchecked& other) {
      return other.function == one->function && other.reason == one->reason;
    };
    if (one->function == kernel.name && std::none_of(all.begin(), one, is_same))
      core->unchecked(kernel.name.c_str(), one->reason.c_str(), 0);
  }
}

} // namespace

const Kernel* kernel_of(CUfunction function) noexcept {
  if (const Kernel* known = code().kernels.find(function)) return known;
  CUcontext context = nullptr;
  if (driver.current(&context) != 0 || context == nullptr) return nullptr;
  const Work work(context); // a stream may capture
  auto kernel = std::make_unique<Kernel>();
  kernel->handle = function;
  resolve(function, *kernel);
  if (kernel->checked != nullptr) copy_attributes(*kernel, function);
  const Kernel* added = nullptr;
  {
    const Locked lock;
    added = code().kernels.add(function, kernel.get());
    if (added == kernel.get()) code().all_kernels.push_back(std::move(kernel));
    else return added;
  }
  if (added != nullptr) note_gaps(*added);
  return added;
}

// The driver may answer with another handle than the one that was launched: then the name says it.
CUfunction plain_form(CUfunction function) noexcept {
  if (function == nullptr) return function;
  {
    const Locked lock;
    for (const auto& kernel : code().all_kernels) {
      const CUfunction handle = kernel->handle;
      if (kernel->checked == function && code().kernels.find(handle) == kernel.get()) return handle;
    }
  }
  const char* name = nullptr;
  CUmodule module = nullptr;
  CUfunction plain = nullptr;
  const bool is_checked = driver.function_name(&name, function) == 0 && is_checked_form(name);
  if (!is_checked || driver.module_of(&module, function) != 0) return function;
  const char* own_name = name + rewriter::kChecked.size();
  return driver.function(&plain, module, own_name) == 0 ? plain : function;
}

CUkernel plain_form(CUkernel kernel) noexcept {
  const char* name = nullptr;
  CUlibrary library = nullptr;
  CUkernel plain = nullptr;
  if (kernel == nullptr) return kernel;
  const bool is_checked = driver.kernel_name(&name, kernel) == 0 && is_checked_form(name);
  if (!is_checked || driver.library_of(&library, kernel) != 0) return kernel;
  const char* own_name = name + rewriter::kChecked.size();
  return driver.kernel(&plain, library, own_name) == 0 ? plain : kernel;
}

bool can_launch(const Kernel& kernel, std::uint32_t threads_of_block) noexcept {
  CUdevice device = 0;
  if (driver.device(&device) != 0) return false;
  copy_attributes(kernel, kernel.handle);
  const int most =
    attribute_of(kernel, kernel.checked, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
  return most < 0 || threads_of_block <= static_cast<std::uint32_t>(most);
}

bool has_cluster(const Kernel& kernel) noexcept {
  CUdevice device = 0;
  return driver.device(&device) == 0 &&
         attribute_of(kernel, kernel.handle, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, device) > 0;
}

void copy_attributes(const Kernel& kernel, CUfunction plain) noexcept {
  CUdevice device = 0;
  if (driver.device(&device) != 0) return;
  for (const CUfunction_attribute what :
       {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
        CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE}) {
    const int wanted = attribute_of(kernel, plain, what, device);
    if (wanted < 0 || wanted == attribute_of(kernel, kernel.checked, what, device)) continue;
    if (kernel.is_kernel)
      driver.set_kernel_attribute(what, wanted, reinterpret_cast<CUkernel>(kernel.checked), device);
    else driver.set_function_attribute(kernel.checked, what, wanted);
  }
}

bool is_checked_form(const char* name) noexcept {
  return std::string_view(name).starts_with(rewriter::kChecked);
}

} // namespace gmt::interposer::kernel_checks
