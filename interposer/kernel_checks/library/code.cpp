// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/code.h"

#include <algorithm>
#include <utility>

#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/kernel_table.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/memory.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr char kNotWatched[] = "its module came from a call that is not watched";

// Modules and kernels are never taken away: another thread may have one in its hands.
struct Code {
  std::vector<std::unique_ptr<Module>> modules;
  KernelTable kernels;
  std::vector<std::unique_ptr<const Kernel>> all_kernels;
  std::vector<std::string> noted;
};
constinit Lasting<Code> all_code;
Code& code() noexcept { return *all_code; }

// ---- what is loaded

void keep(std::unique_ptr<Module> module) noexcept {
  const Locked lock;
  code().modules.push_back(std::move(module));
}

// A later module may get the same handles.
void end(Module& module) noexcept {
  module.library = nullptr;
  module.module = module.instance = nullptr;
  module.code.text = {};
  module.counts = 0;
  module.records = module.used = 0;
  module.launched = 0;
  module.is_in_graphs = false;
}

template <class Is> void forget(Is is) noexcept {
  const Locked lock;
  for (const auto& module : code().modules) {
    if (is(*module)) end(*module);
  }
  code().kernels.clear();
}

Module* find(CUlibrary library) noexcept {
  const Locked lock;
  for (const auto& module : code().modules) {
    if (library != nullptr && module->library == library) return module.get();
  }
  return nullptr;
}

// Of the checked form; null: there is none.
const rewriter::LaunchParameter* find_form(const Module& module, std::string_view kernel) {
  const auto found = std::ranges::find(module.code.kernels, kernel);
  if (found == module.code.kernels.end()) return nullptr;
  return &module.code
            .launch_parameters[static_cast<std::size_t>(found - module.code.kernels.begin())];
}

// Libraries that may have the kernel: its checked form, or nothing that is known.
std::vector<Module*> libraries_with(const char* kernel) noexcept {
  const Locked lock;
  std::vector<Module*> found;
  for (const auto& module : code().modules) {
    const bool may_have =
      !module->why_plain.empty() || kernel == nullptr || find_form(*module, kernel) != nullptr;
    if (module->library != nullptr && may_have) found.push_back(module.get());
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const Module* one) { return one->why_plain.empty(); });
  return found;
}

Module* find_known(CUmodule handle) noexcept {
  const Locked lock;
  for (const auto& module : code().modules) {
    if (module->module == handle || module->instance == handle) return module.get();
  }
  return nullptr;
}

// Its own, or the library's whose instance it is in the current context: asking for an instance
// loads it, so those are asked that have the kernel.
Module* find(CUmodule handle, const char* kernel) noexcept {
  if (Module* known = find_known(handle)) return known;
  for (Module* library : libraries_with(kernel)) {
    CUmodule instance = nullptr;
    if (driver.instance_of(&instance, library->library) != 0 || instance != handle) continue;
    const Locked lock;
    library->instance = instance;
    return library;
  }
  return nullptr;
}

// ---- kernels

std::string reason_of(const Module& module, const std::string& kernel) {
  if (!module.why_plain.empty()) return module.why_plain;
  for (const rewriter::Unchecked& one : module.code.unchecked) {
    if (one.function == kernel) return one.reason;
  }
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
  if (driver.library_of(&library, as_kernel) == 0) kernel.module = find(library);
  kernel.is_kernel = kernel.module != nullptr;
  if (driver.function_name(&name, function) == 0 || driver.kernel_name(&name, as_kernel) == 0)
    kernel.name = name;
  if (!kernel.is_kernel && driver.module_of(&module, function) == 0)
    kernel.module = find(module, name);
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

const char* words(const Kernel& kernel, PlainReason reason) noexcept {
  switch (reason) {
  case PlainReason::kCapture: return "cooperative launches that are captured are not supported yet";
  case PlainReason::kHostMemory: return "the host had no memory for its arguments";
  case PlainReason::kContext: return "its context is not the first one: one at a time is checked";
  case PlainReason::kVariables: return "variables of its checked form were not found";
  case PlainReason::kDevice:
    return "the device could not launch its checked form, which needs more registers";
  default: return kernel.why_plain.c_str();
  }
}

int attribute_of(const Kernel& kernel, CUfunction form, CUfunction_attribute what,
                 CUdevice device) {
  int value = -1;
  if (kernel.is_kernel)
    driver.kernel_attribute(&value, what, reinterpret_cast<CUkernel>(form), device);
  else driver.function_attribute(&value, what, form);
  return value;
}

// ---- variables of checked code

bool look_up_variable(const Module& module, std::string_view name, CUdeviceptr* address) {
  std::size_t bytes = 0;
  const std::string text(name);
  return module.library != nullptr
           ? driver.library_variable(address, &bytes, module.library, text.c_str()) == 0
           : driver.module_variable(address, &bytes, module.module, text.c_str()) == 0;
}

bool make_ready(Module& module) {
  CUdeviceptr counts = 0, records = 0, used = 0, flagged = 0, constant = 0;
  if (!look_up_variable(module, rewriter::kCounts, &counts) ||
      !look_up_variable(module, rewriter::kRecords, &records) ||
      !look_up_variable(module, rewriter::kUsed, &used) ||
      !look_up_variable(module, rewriter::kFlagged, &flagged))
    return false;
  rewriter::Placed placed = rewriter::placed_of(table().placed());
  placed.flag = table().flag();
  if (!look_up_variable(module, rewriter::kTable, &constant) ||
      driver.send(constant, &placed, sizeof placed, table().stream()) != 0 ||
      driver.wait_for_stream(table().stream()) != 0)
    return false;
  const Locked lock;
  if (module.counts != 0) return true; // another thread's first launch was quicker
  module.records = records;
  module.used = used;
  module.flagged = flagged;
  module.fetched = 0;
  module.counted.assign(module.code.sites.size() * rewriter::kCountKinds, 0);
  module.last.assign(module.counted.size(), {});
  module.counts = counts;
  return true;
}

} // namespace

void keep_library(std::unique_ptr<Module> module, CUlibrary library) noexcept {
  module->library = library;
  keep(std::move(module));
}

void keep_module(std::unique_ptr<Module> module, CUmodule handle) noexcept {
  module->module = handle;
  driver.current(&module->context);
  module->code.text = {}; // the driver has compiled it
  keep(std::move(module));
}

void forget_library(CUlibrary library) noexcept {
  forget([library](const Module& module) { return module.library == library; });
}

void forget_module(CUmodule handle) noexcept {
  forget([handle](const Module& module) { return module.module == handle; });
}

void abandon_code() noexcept { all_code.begin_anew(); }

void forget_code_of_context() noexcept {
  forget([](const Module& module) { return module.module != nullptr; });
  const Locked lock;
  for (const auto& module : code().modules) {
    module->counts = 0;
    module->records = module->used = 0;
    module->instance = nullptr;
    module->launched = 0;
    module->is_in_graphs = false;
  }
}

const Kernel* kernel_of(CUfunction function) noexcept {
  if (const Kernel* known = code().kernels.find(function)) return known;
  CUcontext context = nullptr;
  if (driver.current(&context) != 0 || context == nullptr) return nullptr;
  const Work work(context); // a stream may capture
  auto kernel = std::make_unique<Kernel>();
  kernel->handle = function;
  resolve(function, *kernel);
  if (kernel->checked != nullptr) copy_attributes(*kernel, function);
  const Locked lock;
  const Kernel* added = code().kernels.add(function, kernel.get());
  if (added == kernel.get()) code().all_kernels.push_back(std::move(kernel));
  return added;
}

namespace {

void mark_launched(Module& module, std::uint64_t count) noexcept {
  std::atomic<std::uint64_t>& last = module.launched;
  std::uint64_t before = last.load();
  while (before < count && !last.compare_exchange_weak(before, count)) {
  }
}

constinit std::atomic<bool> any_in_graphs{false};

} // namespace

void mark_launched(const Kernel& kernel) noexcept { mark_launched(*kernel.module, count_launch()); }

void mark_in_graph(const Kernel& kernel) noexcept {
  kernel.module->is_in_graphs.store(true);
  any_in_graphs.store(true);
}

void mark_graph_launched() noexcept {
  if (!any_in_graphs.load()) return;
  const std::uint64_t count = count_launch();
  const Locked lock;
  for (const auto& module : code().modules) {
    if (module->is_in_graphs.load()) mark_launched(*module, count);
  }
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

bool is_ready(const Kernel& kernel) noexcept {
  Module& module = *kernel.module;
  if (module.counts.load(std::memory_order_acquire) != 0) return true;
  const Work work(table().context());
  return work.ready() && make_ready(module);
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

std::uint32_t checked_forms(CUlibrary library) noexcept {
  const Module* module = find(library);
  return module != nullptr ? static_cast<std::uint32_t>(module->code.kernels.size()) : 0;
}

std::uint32_t checked_forms(CUmodule handle) noexcept {
  const Module* module = find(handle, nullptr);
  return module != nullptr ? static_cast<std::uint32_t>(module->code.kernels.size()) : 0;
}

bool is_checked_form(const char* name) noexcept {
  return std::string_view(name).starts_with(rewriter::kChecked);
}

void count_plain(const Kernel& kernel, PlainReason reason) noexcept {
  kernel.plain[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

void note_unchecked(const char* kernel, const char* reason, std::uint64_t launches) noexcept {
  if (launches == 0) {
    const Locked lock;
    std::vector<std::string>& noted = code().noted;
    if (std::ranges::find(noted, reason) != noted.end()) return;
    noted.emplace_back(reason);
  }
  core->unchecked(kernel, reason, launches);
}

void report_plain_launches() noexcept {
  std::vector<const Kernel*> kernels;
  {
    const Locked lock;
    for (const auto& kernel : code().all_kernels) kernels.push_back(kernel.get());
  }
  for (const Kernel* kernel : kernels) {
    for (std::size_t i = 0; i < kernel->plain.size(); ++i) {
      const std::uint64_t launches = kernel->plain[i].exchange(0);
      if (launches != 0)
        core->unchecked(kernel->name.c_str(), words(*kernel, static_cast<PlainReason>(i)),
                        launches);
    }
  }
}

std::vector<Module*> launched_modules(std::uint64_t ended) noexcept {
  const Locked lock;
  std::vector<Module*> launched;
  for (const auto& module : code().modules) {
    std::uint64_t last = module->launched.load();
    if (last == 0 || module->counts.load() == 0) continue;
    launched.push_back(module.get());
    if (last <= ended) module->launched.compare_exchange_strong(last, 0);
  }
  return launched;
}

} // namespace gmt::interposer::kernel_checks
