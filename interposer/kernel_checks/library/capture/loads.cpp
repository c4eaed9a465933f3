// SPDX-License-Identifier: Apache-2.0
// Which code was loaded under which handle. A text in memory that may go is copied at once; what
// lies in a file that is mapped is read when a launch of it is captured.
#include <dlfcn.h>

#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/capture/capture.h"
#include "interposer/kernel_checks/library/images.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "ptx/fatbin/unpack.h"

namespace gmt::interposer::kernel_checks {

namespace {

struct Loaded {
  bool is_library = false;      // else a module
  const void* mapped = nullptr; // stays until the code is unloaded
  ImageText text;
};

struct Loads {
  std::map<const void*, Loaded> by_handle;
};
constinit Lasting<Loads> all_loads;

bool is_mapped(const void* image) {
  Dl_info found{};
  const void* memory = image;
  if (ptx::magic_of(image) == ptx::kFatbinWrapperMagic)
    memory = static_cast<const ptx::FatbinWrapper*>(image)->data;
  return memory != nullptr && dladdr(image, &found) != 0 && dladdr(memory, &found) != 0;
}

void keep(const void* handle, const void* image, bool is_library) noexcept {
  if (handle == nullptr || image == nullptr) return;
  try {
    Loaded loaded{.is_library = is_library, .text = {}};
    if (is_mapped(image)) loaded.mapped = image;
    else loaded.text = text_of_image(image, capability_of_device());
    const Locked lock;
    (*all_loads).by_handle[handle] = std::move(loaded);
  } catch (const std::exception&) { // of memory: the kernel has no known code then
    return;
  }
}

void forget(const void* handle) noexcept {
  forget_choices(); // another kernel may get the handle of one that goes
  const Locked lock;
  (*all_loads).by_handle.erase(handle);
}

template <class Handle> CUresult kept(int result, const Handle* handle,
                                      const void* image) noexcept {
  if (result == CUDA_SUCCESS && handle != nullptr)
    keep(*handle, image, std::is_same_v<Handle, CUlibrary>);
  return static_cast<CUresult>(result);
}

CUresult noted_module_load_data(CUmodule* module, const void* image) noexcept {
  return kept(own<"cuModuleLoadData", CUmodule*, const void*>(module, image), module, image);
}

CUresult noted_module_load_fat_binary(CUmodule* module, const void* image) noexcept {
  return kept(own<"cuModuleLoadFatBinary", CUmodule*, const void*>(module, image), module, image);
}

CUresult noted_module_load_data_ex(CUmodule* module, const void* image, unsigned count,
                                   CUjit_option* options, void** values) noexcept {
  return kept(own<"cuModuleLoadDataEx", CUmodule*, const void*, unsigned, CUjit_option*, void**>(
                module, image, count, options, values),
              module, image);
}

template <class Handle> CUresult kept_file(int result, const Handle* handle, const char* path) {
  const std::string image = path != nullptr ? read_image_file(path) : std::string();
  return kept(result, handle, image.empty() ? nullptr : image.data());
}

CUresult noted_module_load(CUmodule* module, const char* path) noexcept {
  return kept_file(own<"cuModuleLoad", CUmodule*, const char*>(module, path), module, path);
}

CUresult noted_library_load_data(CUlibrary* library, const void* image, CUjit_option* jit,
                                 void** jit_values, unsigned jit_count, CUlibraryOption* options,
                                 void** values, unsigned count) noexcept {
  return kept(own<"cuLibraryLoadData", CUlibrary*, const void*, CUjit_option*, void**, unsigned,
                  CUlibraryOption*, void**, unsigned>(library, image, jit, jit_values, jit_count,
                                                      options, values, count),
              library, image);
}

CUresult noted_library_load_file(CUlibrary* library, const char* path, CUjit_option* jit,
                                 void** jit_values, unsigned jit_count, CUlibraryOption* options,
                                 void** values, unsigned count) noexcept {
  return kept_file(own<"cuLibraryLoadFromFile", CUlibrary*, const char*, CUjit_option*, void**,
                       unsigned, CUlibraryOption*, void**, unsigned>(
                     library, path, jit, jit_values, jit_count, options, values, count),
                   library, path);
}

CUresult noted_module_unload(CUmodule module) noexcept {
  forget(module);
  return static_cast<CUresult>(own<"cuModuleUnload", CUmodule>(module));
}

CUresult noted_library_unload(CUlibrary library) noexcept {
  forget(library);
  return static_cast<CUresult>(own<"cuLibraryUnload", CUlibrary>(library));
}

bool is_known(const void* handle) {
  const Locked lock;
  return handle != nullptr && (*all_loads).by_handle.contains(handle);
}

// The library whose module this is in the current context.
CUlibrary library_of(CUmodule module) {
  std::vector<const void*> handles;
  {
    const Locked lock;
    for (const auto& [handle, loaded] : (*all_loads).by_handle) {
      if (loaded.is_library) handles.push_back(handle);
    }
  }
  for (const void* handle : handles) {
    const auto library = static_cast<CUlibrary>(const_cast<void*>(handle)); // NOLINT: a handle
    CUmodule instance = nullptr;
    if (driver.instance_of(&instance, library) == 0 && instance == module) return library;
  }
  return nullptr;
}

} // namespace

void replace_loads() noexcept {
  replace("cuModuleLoadData", noted_module_load_data);
  replace("cuModuleLoadDataEx", noted_module_load_data_ex);
  replace("cuModuleLoadFatBinary", noted_module_load_fat_binary);
  replace("cuModuleLoad", noted_module_load);
  replace("cuLibraryLoadData", noted_library_load_data);
  replace("cuLibraryLoadFromFile", noted_library_load_file);
  replace("cuModuleUnload", noted_module_unload);
  replace("cuLibraryUnload", noted_library_unload);
}

void abandon_loads() noexcept { all_loads.begin_anew(); }

NamedKernel name_kernel(CUfunction function) {
  NamedKernel kernel;
  const char* name = nullptr;
  const auto as_kernel = reinterpret_cast<CUkernel>(function);
  CUlibrary library = nullptr;
  if (driver.library_of(&library, as_kernel) == 0 && is_known(library)) kernel.library = library;
  if (driver.function_name(&name, function) == 0 || driver.kernel_name(&name, as_kernel) == 0)
    kernel.name = name;
  CUmodule module = nullptr;
  if (kernel.library == nullptr && driver.module_of(&module, function) == 0) {
    if (is_known(module)) kernel.module = module;
    else kernel.library = library_of(module);
  }
  return kernel;
}

std::string text_of(const NamedKernel& kernel, std::string* why) {
  const void* handle = kernel.library;
  if (handle == nullptr) handle = kernel.module;
  Loaded loaded;
  {
    const Locked lock;
    const auto found = (*all_loads).by_handle.find(handle);
    if (found != (*all_loads).by_handle.end()) loaded = found->second;
    else loaded.text.why_none = "its code came from a call that is not watched";
  }
  if (loaded.mapped != nullptr) loaded.text = text_of_image(loaded.mapped, capability_of_device());
  *why = loaded.text.why_none;
  return std::move(loaded.text.ptx);
}

} // namespace gmt::interposer::kernel_checks
