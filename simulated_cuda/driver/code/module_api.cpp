// SPDX-License-Identifier: Apache-2.0
// Loading code: modules, libraries, their variables, and the export tables.
// Called through driver_api.def with the lock held.
#include "simulated_cuda/common/private_table.h"
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/code/foreign_runtime.h"
#include "simulated_cuda/driver/code/instance.h"
#include "simulated_cuda/driver/execution/capability.h"
#include "simulated_cuda/driver/state/lock.h"
#include "simulated_cuda/driver/state/observer.h"
#include "simulated_cuda/driver/state/placed.h"
#include "simulated_cuda/driver/streams/operation.h"
#include "simulated_cuda/executor/only_block.h"

#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace gmt::sim {
namespace {

CUresult load(const void* code, bool is_module, Library** out, const JitLog& log = {}) {
  if (code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto library = std::make_unique<Library>();
  const CUresult result = read_image(code, claimed_capability(), &library->image);
  const std::string& why = library->image.why;
  if (result == CUDA_SUCCESS) log.write({}, why);
  else log.write(why, {});
  if (result != CUDA_SUCCESS) return result;
  library->is_module = is_module;
  *out = state().libraries.add(std::move(library));
  return CUDA_SUCCESS;
}

void unload(Library* library) {
  for (const auto& module : library->modules) free_variables(module.get());
  free_managed_variables(library);
  state().libraries.take(library);
}

// std::ifstream instead of mmap: the image is copied, so the file may change afterwards.
CUresult load_file(const char* path, bool is_module, Library** out, const JitLog& log = {}) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  std::string code{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  code.append(8, '\0');
  return load(code.data(), is_module, out, log);
}

template <class Load>
CUresult load_module(CUmodule* module, Load load_into) {
  Library* library = nullptr;
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = load_into(&library);
  if (result == CUDA_SUCCESS)
    *module = reinterpret_cast<CUmodule>(instance_in(library, this_thread().current()));
  return result;
}

CUresult declare_variable(CUlibrary handle, const char* name, std::size_t bytes, int managed) {
  DriverLock lock;
  Library* library = state().libraries.get(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // The compiler may have left out what no code uses; the host may still ask for it.
  const auto [known, is_new] = library->image.variables.try_emplace(name);
  if (!is_new) return CUDA_SUCCESS;
  known->second.size = bytes;
  known->second.managed = managed != 0;
  return CUDA_SUCCESS;
}

// The caller writes there, as a kernel does.
void* host_view(CUdeviceptr address, std::size_t bytes) {
  DriverLock lock;
  std::byte* view = state().blocks.view(address, bytes);
  if (view != nullptr) state().memory.mark_initialized(address, bytes);
  return view;
}

void announce_image(const void* image) {
  DriverLock lock;
  claim_capability_of(image);
}

void note_refusal(const char* function) {
  DriverLock lock;
  observe_refusal(function, nullptr);
}

} // namespace

Kernel* kernel_named(Library* library, const char* name) {
  auto& slot = library->kernels[name];
  if (slot == nullptr) {
    const auto it = library->image.kernels.find(name);
    const bool known = it != library->image.kernels.end();
    if (!known && !library->image.opaque) {
      library->kernels.erase(name);
      return nullptr;
    }
    slot = std::make_unique<Kernel>();
    slot->name = name;
    slot->library = library;
    slot->parameters_known = known;
    if (known) slot->parameters = it->second;
  }
  // Loading a kernel lays out the device heap of the context, whose size is fixed from then on.
  Context* context = this_thread().current();
  if (library->image.uses_device_heap && context != nullptr) context->heap_in_use = true;
  return slot.get();
}

void unload_from_context(Context* context) {
  std::vector<Library*> modules;
  state().libraries.for_each([&](Library& library) {
    for (const auto& module : library.modules) {
      if (module->context == context && library.is_module) modules.push_back(&library);
      if (module->context == context) free_variables(module.get());
    }
    if (!library.is_module)
      std::erase_if(library.modules, [&](const auto& m) { return m->context == context; });
  });
  for (Library* library : modules) state().libraries.take(library);
}

CUresult module_load_data(CUmodule* module, const void* code) {
  return module_load_data_ex(module, code, 0, nullptr, nullptr);
}
CUresult module_load_data_ex(CUmodule* module, const void* code, unsigned count,
                             CUjit_option* options, void** values) {
  const JitLog log(count, options, values);
  return load_module(module, [&](Library** library) { return load(code, true, library, log); });
}
CUresult module_load_fat_binary(CUmodule* module, const void* code) {
  return module_load_data(module, code);
}
CUresult module_load(CUmodule* module, const char* path) {
  return load_module(module, [&](Library** library) { return load_file(path, true, library); });
}

CUresult module_unload(CUmodule handle) {
  const Module* module = Module::get(handle);
  if (module == nullptr || !module->library->is_module) return CUDA_ERROR_INVALID_HANDLE;
  unload(module->library);
  return CUDA_SUCCESS;
}

CUresult module_get_loading_mode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult module_get_function(CUfunction* out, CUmodule handle, const char* name) {
  const Module* module = Module::get(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Kernel* kernel = kernel_named(module->library, name);
  *out = reinterpret_cast<CUfunction>(kernel);
  return kernel == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult module_get_global(CUdeviceptr* address, std::size_t* bytes, CUmodule handle,
                           const char* name) {
  Module* module = Module::get(handle);
  return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : get_global(address, bytes, module, name);
}

CUresult library_load_data(CUlibrary* out, const void* code, CUjit_option* options, void** values,
                           unsigned count, CUlibraryOption*, void**, unsigned) {
  Library* library = nullptr;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = load(code, false, &library, JitLog(count, options, values));
  if (result == CUDA_SUCCESS) *out = reinterpret_cast<CUlibrary>(library);
  return result;
}

CUresult library_load_from_file(CUlibrary* out, const char* path, CUjit_option* options,
                                void** values, unsigned count, CUlibraryOption*, void**, unsigned) {
  Library* library = nullptr;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = load_file(path, false, &library, JitLog(count, options, values));
  if (result == CUDA_SUCCESS) *out = reinterpret_cast<CUlibrary>(library);
  return result;
}

CUresult library_unload(CUlibrary handle) {
  Library* library = state().libraries.get(handle);
  if (library == nullptr || library->is_module) return CUDA_ERROR_INVALID_HANDLE;
  unload(library);
  return CUDA_SUCCESS;
}

CUresult library_get_kernel(CUkernel* out, CUlibrary handle, const char* name) {
  Library* library = state().libraries.get(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Kernel* kernel = kernel_named(library, name);
  *out = reinterpret_cast<CUkernel>(kernel);
  return kernel == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult library_get_module(CUmodule* out, CUlibrary handle) {
  Library* library = state().libraries.get(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUmodule>(instance_in(library, this_thread().current()));
  return CUDA_SUCCESS;
}

CUresult library_get_global(CUdeviceptr* address, std::size_t* bytes, CUlibrary handle,
                            const char* name) {
  Library* library = state().libraries.get(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return get_global(address, bytes, instance_in(library, this_thread().current()), name);
}

CUresult library_get_managed(CUdeviceptr* address, std::size_t* bytes, CUlibrary handle,
                             const char* name) {
  Library* library = state().libraries.get(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return name == nullptr ? CUDA_ERROR_INVALID_VALUE : get_managed(address, bytes, library, name);
}

CUresult get_export_table(const void** table, const CUuuid* id) {
  static const SimulatedRuntimeTable kOwn{sizeof(SimulatedRuntimeTable), declare_variable,
                                          host_view, announce_image, note_refusal};
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (std::memcmp(id->bytes, kSimulatedRuntimeTable, sizeof kSimulatedRuntimeTable) == 0) {
    *table = &kOwn;
    return CUDA_SUCCESS;
  }
  static const SimulatedProfilerTable kForProfiler{sizeof(SimulatedProfilerTable), watch_launches};
  if (std::memcmp(id->bytes, kSimulatedProfilerTable, sizeof kSimulatedProfilerTable) == 0) {
    *table = &kForProfiler;
    return CUDA_SUCCESS;
  }
  static const SimulatedReplayTable kForReplay{
    sizeof(SimulatedReplayTable),
    reserve_placed,
    set_next_address,
    [](const char* name, CUdeviceptr address) { set_variable_address(name, address); },
    executor::run_only_block,
    [](std::uint64_t handle) { state().last_texture = handle - 1; }};
  if (std::memcmp(id->bytes, kSimulatedReplayTable, sizeof kSimulatedReplayTable) == 0) {
    *table = &kForReplay;
    return CUDA_SUCCESS;
  }
  // What runtimes of CUDA ask for; NVRTC asks for another table and goes on without it.
  static constexpr unsigned char kForRuntimes[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                                   0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
  if (std::memcmp(id->bytes, kForRuntimes, sizeof kForRuntimes) == 0) refuse_foreign_runtime();
  *table = nullptr;
  return CUDA_ERROR_NOT_SUPPORTED;
}

} // namespace gmt::sim
