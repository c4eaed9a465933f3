// SPDX-License-Identifier: Apache-2.0
// Loads of code: the driver gets a module's checked text where there is one and it takes it, else
// what the program gave. Lists of kernels leave checked forms out.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/images.h"
#include "interposer/kernel_checks/library/mapped.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/reports.h"
#include "interposer/kernel_checks/library/wait_notice.h"

namespace gmt::interposer::kernel_checks {

namespace {

void keep(std::unique_ptr<Module> module, CUlibrary handle) noexcept {
  keep_library(std::move(module), handle);
}
void keep(std::unique_ptr<Module> module, CUmodule handle) noexcept {
  keep_module(std::move(module), handle);
}

// Its code, or why it has none.
void keep_in_cache(const Module& module) noexcept {
  CachedCode cached;
  try {
    cached.code = module.code;
    cached.machine = module.machine;
    cached.why_plain = module.why_plain;
  } catch (const std::exception&) { // of memory
    return;
  }
  cached.code.text.clear();
  cached.heap_use = module.heap_use;
  code_cache().keep(*module.key, cached);
}

bool has_code(const std::unique_ptr<Module>& module) noexcept {
  return module != nullptr && module->why_plain.empty();
}

constinit std::atomic<std::size_t> compiled_kernels{0}; // by this process

std::string words_of_compiling(const Module& module) {
  const std::size_t now = module.code.kernels.size(), before = compiled_kernels.load();
  std::string words = "compiling " + std::to_string(now) + (now == 1 ? " kernel" : " kernels");
  words += " with checks";
  if (before != 0) words += ", " + std::to_string(before) + " done";
  return words;
}

// Compiles what was not in the cache, for other processes, too: these may wait for it, and so not
// for the load, which may wait for the program's kernels. A text that the driver cannot compile is
// not left to it: where it loads lazily, it says so at the program's launch.
void compile_ahead(Module& module) noexcept {
  Compiled compiled;
  {
    const WaitNotice notice(words_of_compiling(module));
    compiled = compile(module.code.text);
  }
  compiled_kernels.fetch_add(module.code.kernels.size());
  module.machine = std::move(compiled.machine);
  if (!module.machine.empty()) keep_in_cache(module);
  else if (compiled.was_tried) {
    module.code = {};
    module.why_plain = "the driver could not compile its checked form";
    if (!compiled.why_not.empty()) module.why_plain += " (" + compiled.why_not + ")";
    if (compiled.is_final) keep_in_cache(module);
  }
  module.claim.end();
}

// Loads machine code, which is compiled now if it was not in the cache; false: the text is to be
// loaded, or, where the module says so, what the program gave.
template <class LoadChecked>
bool load_machine_code(std::unique_ptr<Module>& module, const void* image,
                       LoadChecked load_checked) noexcept {
  Module& made = *module;
  const bool was_cached = !made.machine.empty();
  if (!was_cached && made.key) compile_ahead(made);
  if (made.machine.empty()) return false;
  if (load_checked(made.machine.data()) == CUDA_SUCCESS) return true;
  made.machine.clear();
  code_cache().remove(*made.key);
  if (!was_cached) return false;
  module = rewrite_image(image, false);
  return false;
}

// `load_checked` loads a text or machine code, `load_plain` what the program gave; both set
// `*handle`. `may_be_cached`: the program says nothing of how to compile.
template <class Handle, class LoadChecked, class LoadPlain>
CUresult load(Handle* handle, const void* image, bool may_be_cached, LoadChecked load_checked,
              LoadPlain load_plain) noexcept {
  if (handle == nullptr || image == nullptr) return static_cast<CUresult>(load_plain());
  forget_freed(); // the driver may place variables there
  std::unique_ptr<Module> module = rewrite_image(image, may_be_cached);
  if (has_code(module) && load_machine_code(module, image, load_checked)) {
    keep(std::move(module), *handle);
    return CUDA_SUCCESS;
  }
  if (has_code(module)) {
    const WaitNotice notice(words_of_compiling(*module));
    int result = load_checked(module->code.text.c_str());
    if (result != CUDA_SUCCESS) { // CUDA 13.0 compiles some large kernels to be linked alone
      const Compiled compiled = compile(module->code.text);
      if (!compiled.machine.empty()) result = load_checked(compiled.machine.data());
    }
    if (result == CUDA_SUCCESS) {
      keep(std::move(module), *handle);
      return CUDA_SUCCESS;
    }
    module->code = {};
    module->why_plain = "the driver did not take its checked form (" + std::to_string(result) + ")";
  }
  const auto result = static_cast<CUresult>(load_plain());
  if (result == CUDA_SUCCESS && module != nullptr) keep(std::move(module), *handle);
  return result;
}

CUresult module_load_data(CUmodule* module, const void* image) noexcept {
  const auto from = [module](const void* code) {
    return own<"cuModuleLoadData", CUmodule*, const void*>(module, code);
  };
  return load(module, image, true, from, [&] { return from(image); });
}

CUresult module_load_fat_binary(CUmodule* module, const void* image) noexcept {
  return load(
    module, image, true,
    [module](const void* code) {
      return own<"cuModuleLoadData", CUmodule*, const void*>(module, code);
    },
    [&] { return own<"cuModuleLoadFatBinary", CUmodule*, const void*>(module, image); });
}

CUresult module_load_data_ex(CUmodule* module, const void* image, unsigned count,
                             CUjit_option* options, void** values) noexcept {
  const auto from = [=](const void* code) {
    return own<"cuModuleLoadDataEx", CUmodule*, const void*, unsigned, CUjit_option*, void**>(
      module, code, count, options, values);
  };
  return load(module, image, count == 0, from, [&] { return from(image); });
}

CUresult module_load(CUmodule* module, const char* path) noexcept {
  const std::string image = path != nullptr ? read_image_file(path) : std::string();
  return load(
    module, image.empty() ? nullptr : image.data(), true,
    [module](const void* code) {
      return own<"cuModuleLoadData", CUmodule*, const void*>(module, code);
    },
    [&] { return own<"cuModuleLoad", CUmodule*, const char*>(module, path); });
}

CUresult library_load_data(CUlibrary* library, const void* image, CUjit_option* jit,
                           void** jit_values, unsigned jit_count, CUlibraryOption* options,
                           void** values, unsigned count) noexcept {
  const auto from = [=](const void* code) {
    return own<"cuLibraryLoadData", CUlibrary*, const void*, CUjit_option*, void**, unsigned,
               CUlibraryOption*, void**, unsigned>(library, code, jit, jit_values, jit_count,
                                                   options, values, count);
  };
  return load(library, image, jit_count == 0, from, [&] { return from(image); });
}

CUresult library_load_file(CUlibrary* library, const char* path, CUjit_option* jit,
                           void** jit_values, unsigned jit_count, CUlibraryOption* options,
                           void** values, unsigned count) noexcept {
  const std::string image = path != nullptr ? read_image_file(path) : std::string();
  return load(
    library, image.empty() ? nullptr : image.data(), jit_count == 0,
    [=](const void* code) {
      return own<"cuLibraryLoadData", CUlibrary*, const void*, CUjit_option*, void**, unsigned,
                 CUlibraryOption*, void**, unsigned>(library, code, jit, jit_values, jit_count,
                                                     options, values, count);
    },
    [&] {
      return own<"cuLibraryLoadFromFile", CUlibrary*, const char*, CUjit_option*, void**, unsigned,
                 CUlibraryOption*, void**, unsigned>(library, path, jit, jit_values, jit_count,
                                                     options, values, count);
    });
}

// What its kernels found lies in its variables, which go with it.
CUresult module_unload(CUmodule module) noexcept {
  fetch_last_reports();
  forget_module(module);
  return static_cast<CUresult>(own<"cuModuleUnload", CUmodule>(module));
}

CUresult library_unload(CUlibrary library) noexcept {
  fetch_last_reports();
  forget_library(library);
  return static_cast<CUresult>(own<"cuLibraryUnload", CUlibrary>(library));
}

// ---- lists

CUresult library_kernel_count(unsigned* count, CUlibrary library) noexcept {
  const int result = own<"cuLibraryGetKernelCount", unsigned*, CUlibrary>(count, library);
  if (result == CUDA_SUCCESS) *count -= std::min(*count, checked_forms(library));
  return static_cast<CUresult>(result);
}

CUresult module_function_count(unsigned* count, CUmodule module) noexcept {
  const int result = own<"cuModuleGetFunctionCount", unsigned*, CUmodule>(count, module);
  if (result == CUDA_SUCCESS) *count -= std::min(*count, checked_forms(module));
  return static_cast<CUresult>(result);
}

// `list(handles, count)` is the driver's, of all of them.
template <class Handle, class List, class NameOf>
CUresult list_plain(Handle* handles, unsigned count, unsigned all, List list,
                    NameOf name_of) noexcept {
  std::vector<Handle> found(all);
  const int result = list(found.data(), all);
  if (result != CUDA_SUCCESS) return static_cast<CUresult>(result);
  std::erase_if(found, [&](Handle handle) {
    const char* name = nullptr;
    return handle == nullptr || (name_of(&name, handle) == 0 && is_checked_form(name));
  });
  std::copy_n(found.begin(), std::min<std::size_t>(count, found.size()), handles);
  return CUDA_SUCCESS;
}

CUresult library_kernels(CUkernel* kernels, unsigned count, CUlibrary library) noexcept {
  const auto list = [library](CUkernel* to, unsigned most) {
    return own<"cuLibraryEnumerateKernels", CUkernel*, unsigned, CUlibrary>(to, most, library);
  };
  unsigned all = 0;
  const bool is_rewritten = kernels != nullptr && checked_forms(library) != 0;
  if (!is_rewritten || own<"cuLibraryGetKernelCount", unsigned*, CUlibrary>(&all, library) != 0)
    return static_cast<CUresult>(list(kernels, count));
  return list_plain(kernels, count, all, list, [](const char** name, CUkernel kernel) {
    return driver.kernel_name(name, kernel);
  });
}

CUresult module_functions(CUfunction* functions, unsigned count, CUmodule module) noexcept {
  const auto list = [module](CUfunction* to, unsigned most) {
    return own<"cuModuleEnumerateFunctions", CUfunction*, unsigned, CUmodule>(to, most, module);
  };
  unsigned all = 0;
  const bool is_rewritten = functions != nullptr && checked_forms(module) != 0;
  if (!is_rewritten || own<"cuModuleGetFunctionCount", unsigned*, CUmodule>(&all, module) != 0)
    return static_cast<CUresult>(list(functions, count));
  return list_plain(functions, count, all, list, [](const char** name, CUfunction function) {
    return driver.function_name(name, function);
  });
}

} // namespace

void replace_code() noexcept {
  replace("cuModuleLoadData", module_load_data);
  replace("cuModuleLoadDataEx", module_load_data_ex);
  replace("cuModuleLoadFatBinary", module_load_fat_binary);
  replace("cuModuleLoad", module_load);
  replace("cuLibraryLoadData", library_load_data);
  replace("cuLibraryLoadFromFile", library_load_file);
  replace("cuModuleUnload", module_unload);
  replace("cuLibraryUnload", library_unload);
  replace("cuLibraryGetKernelCount", library_kernel_count);
  replace("cuModuleGetFunctionCount", module_function_count);
  replace("cuLibraryEnumerateKernels", library_kernels);
  replace("cuModuleEnumerateFunctions", module_functions);
}

} // namespace gmt::interposer::kernel_checks
