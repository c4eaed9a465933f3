// SPDX-License-Identifier: Apache-2.0
// Registration: what nvcc's start-up code calls before main, and the lazy loading behind it.
// Called through runtime_api.def, by constructors of the program and of its libraries, and by
// dlclose. Invariant: registering calls no driver function before another call has loaded the
// driver, so a program that never uses CUDA needs none.
#include "simulated_cuda/runtime/registration.h"

#include "simulated_cuda/common/private_table.h"
#include "simulated_cuda/runtime/api.h"

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace gmt::sim {
namespace {

struct Variable {
  struct FatBinary* owner = nullptr;
  std::string name;
  std::size_t bytes = 0;
  bool managed = false;
  // nvcc's shadow of a __managed__ variable is a pointer that we fill
  void** managed_pointer = nullptr;
};

struct Function {
  struct FatBinary* owner = nullptr;
  std::string name;
  CUkernel kernel = nullptr;
};

struct FatBinary {
  const void* image = nullptr;
  CUlibrary library = nullptr;
  std::vector<const void*> stubs;
  std::vector<const void*> shadows;
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<FatBinary*, std::unique_ptr<FatBinary>> binaries;
  std::unordered_map<const void*, Function> functions;
  std::unordered_map<const void*, Variable> variables;
  bool announced = false; // the driver is there: it hears of later binaries at once
};

Registry& registry() {
  // Dlclose of a user's library may come after our destructors
  static auto* const instance = new Registry;
  return *instance;
}

FatBinary* binary_of(void** handle) { return reinterpret_cast<FatBinary*>(handle); }

// Takes what only registration knows to the simulated driver; a real driver has no such table, and
// needs none.
const SimulatedRuntimeTable* driver_table() {
  const void* table = nullptr;
  CUuuid id;
  __builtin_memcpy(id.bytes, kSimulatedRuntimeTable, sizeof id.bytes);
  if (driver().cuGetExportTable(&table, &id) != CUDA_SUCCESS) return nullptr;
  return static_cast<const SimulatedRuntimeTable*>(table);
}

void declare_variables(const FatBinary& binary) {
  const SimulatedRuntimeTable* own = driver_table();
  if (own == nullptr) return;
  for (const void* shadow : binary.shadows) {
    const Variable& variable = registry().variables[shadow];
    own->declare_variable(binary.library, variable.name.c_str(), variable.bytes,
                          variable.managed ? 1 : 0);
  }
}

void announce(const FatBinary& binary) {
  const SimulatedRuntimeTable* own = driver_table();
  if (own != nullptr) own->announce_image(binary.image);
}

} // namespace

void note_refusal(const char* function) {
  if (load_driver() != cudaSuccess) return;
  const SimulatedRuntimeTable* own = driver_table();
  if (own != nullptr) own->note_refusal(function);
}

namespace {

cudaError_t load(FatBinary& binary) {
  if (binary.library != nullptr) return cudaSuccess;
  const CUresult result = driver().cuLibraryLoadData(&binary.library, binary.image, nullptr,
                                                     nullptr, 0, nullptr, nullptr, 0);
  if (result == CUDA_SUCCESS) declare_variables(binary);
  return to_runtime(result);
}

// The real runtime asks the driver for the address alone; the size is known from the registration.
cudaError_t find_variable(Variable& variable, CUdeviceptr* address, std::size_t* bytes) {
  if (cudaError_t error = load(*variable.owner); error != cudaSuccess) return error;
  const char* name = variable.name.c_str();
  const CUresult result =
    variable.managed ? driver().cuLibraryGetManaged(address, bytes, variable.owner->library, name)
                     : driver().cuLibraryGetGlobal(address, nullptr, variable.owner->library, name);
  if (bytes != nullptr && !variable.managed) *bytes = variable.bytes;
  return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : to_runtime(result);
}

// A __managed__ variable is named by its shadow, or by its address once the shadow has been filled.
Variable* variable_behind(const void* symbol) {
  const auto it = registry().variables.find(symbol);
  if (it != registry().variables.end()) return &it->second;
  for (auto& [shadow, variable] : registry().variables) {
    if (variable.managed && *variable.managed_pointer == symbol) return &variable;
  }
  return nullptr;
}

} // namespace

void** register_fat_binary(void* image) {
  auto binary = std::make_unique<FatBinary>();
  binary->image = image;
  FatBinary* raw = binary.get();
  const std::lock_guard lock(registry().mutex);
  registry().binaries.emplace(raw, std::move(binary));
  if (registry().announced) announce(*raw);
  return reinterpret_cast<void**>(raw);
}

void announce_binaries() {
  const std::lock_guard lock(registry().mutex);
  registry().announced = true;
  for (const auto& entry : registry().binaries) announce(*entry.second);
}

void register_fat_binary_end(void**) {}

void unregister_fat_binary(void** handle) {
  const std::lock_guard lock(registry().mutex);
  const auto it = registry().binaries.find(binary_of(handle));
  if (it == registry().binaries.end()) return;
  FatBinary& binary = *it->second;
  for (const void* stub : binary.stubs) registry().functions.erase(stub);
  for (const void* shadow : binary.shadows) registry().variables.erase(shadow);
  if (binary.library != nullptr) driver().cuLibraryUnload(binary.library);
  registry().binaries.erase(it);
}

void register_function(void** handle, const char* stub, char*, const char* name, int, uint3*,
                       uint3*, dim3*, dim3*, int*) {
  const std::lock_guard lock(registry().mutex);
  registry().functions[stub] = {binary_of(handle), name, nullptr};
  binary_of(handle)->stubs.push_back(stub);
}

void register_var(void** handle, char* shadow, char*, const char* name, int, std::size_t bytes, int,
                  int) {
  const std::lock_guard lock(registry().mutex);
  registry().variables[shadow] = {binary_of(handle), name, bytes, false, nullptr};
  binary_of(handle)->shadows.push_back(shadow);
}

void register_managed_var(void** handle, void** shadow, char*, const char* name, int,
                          std::size_t bytes, int, int) {
  const std::lock_guard lock(registry().mutex);
  registry().variables[shadow] = {binary_of(handle), name, bytes, true, shadow};
  binary_of(handle)->shadows.push_back(shadow);
}

void register_host_var(void**, const char*, char*, std::size_t) {}
void register_unified_table(void**, const void*) {}

// Called before the program first touches a __managed__ variable: gives the shadow its address.
char init_module(void** handle) {
  if (use_context() != cudaSuccess) return 0;
  const std::lock_guard lock(registry().mutex);
  FatBinary* binary = binary_of(handle);
  for (const void* shadow : binary->shadows) {
    Variable& variable = registry().variables[shadow];
    if (!variable.managed) continue;
    CUdeviceptr address = 0;
    if (find_variable(variable, &address, nullptr) != cudaSuccess) return 0;
    *variable.managed_pointer = reinterpret_cast<void*>(address);
  }
  return 1;
}

const void* stub_of(CUkernel kernel) {
  const std::lock_guard lock(registry().mutex);
  for (const auto& [stub, function] : registry().functions)
    if (function.kernel == kernel) return stub;
  return kernel;
}

cudaError_t kernel_of(const void* stub, CUkernel* kernel) {
  if (stub == nullptr) return cudaErrorInvalidDeviceFunction;
  const std::lock_guard lock(registry().mutex);
  const auto it = registry().functions.find(stub);
  if (it == registry().functions.end()) {
    const char* name = nullptr;
    auto* handle = reinterpret_cast<CUkernel>(const_cast<void*>(stub));
    if (driver().cuKernelGetName(&name, handle) != CUDA_SUCCESS)
      return cudaErrorInvalidDeviceFunction;
    *kernel = handle;
    return cudaSuccess;
  }
  Function& function = it->second;
  if (function.kernel == nullptr) {
    if (cudaError_t error = load(*function.owner); error != cudaSuccess) return error;
    const char* name = function.name.c_str();
    const CUresult result =
      driver().cuLibraryGetKernel(&function.kernel, function.owner->library, name);
    if (result != CUDA_SUCCESS) return cudaErrorInvalidDeviceFunction;
  }
  *kernel = function.kernel;
  return cudaSuccess;
}

cudaError_t variable_of(const void* symbol, CUdeviceptr* address, std::size_t* bytes) {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  const std::lock_guard lock(registry().mutex);
  Variable* variable = variable_behind(symbol);
  return variable == nullptr ? cudaErrorInvalidSymbol : find_variable(*variable, address, bytes);
}

} // namespace gmt::sim
