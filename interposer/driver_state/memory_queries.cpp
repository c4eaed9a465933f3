// SPDX-License-Identifier: Apache-2.0
// See memory_queries.h. The functions are looked up by name each time: calls that share memory are rare.
#include "interposer/driver_state/memory_queries.h"

#include <cstddef>

#include "interposer/loader/real_dlsym.h"

namespace gmt::interposer {

std::uint64_t ask_bytes(std::uint64_t address) noexcept {
  using Query = CUresult (*)(CUdeviceptr*, std::size_t*, CUdeviceptr);
  const auto query = reinterpret_cast<Query>(driver_symbol("cuMemGetAddressRange_v2"));
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  if (query == nullptr || query(&base, &bytes, address) != CUDA_SUCCESS || base != address) return 0;
  return bytes;
}

std::uint64_t ask_bytes_of_variable(VariableOf owner, std::uint64_t module, const char* name) noexcept {
  using Query = CUresult (*)(CUdeviceptr*, std::size_t*, std::uint64_t, const char*);
  const char* symbol = owner == VariableOf::kModule    ? "cuModuleGetGlobal_v2"
                       : owner == VariableOf::kLibrary ? "cuLibraryGetGlobal"
                                                       : "cuLibraryGetManaged";
  const auto query = reinterpret_cast<Query>(driver_symbol(symbol));
  std::size_t bytes = 0;
  return query != nullptr && query(nullptr, &bytes, module, name) == CUDA_SUCCESS ? bytes : 0;
}

bool ask_is_managed(std::uint64_t address) noexcept {
  using Query = CUresult (*)(void*, CUpointer_attribute, CUdeviceptr);
  const auto query = reinterpret_cast<Query>(driver_symbol("cuPointerGetAttribute"));
  unsigned managed = 0; // cuda.h has it a boolean: the driver may write less than these bytes
  return query != nullptr && query(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS && managed != 0;
}

bool ask_location(std::uint64_t handle, CUmemLocation& location) noexcept {
  using Query = CUresult (*)(CUmemAllocationProp*, CUmemGenericAllocationHandle);
  const auto query = reinterpret_cast<Query>(driver_symbol("cuMemGetAllocationPropertiesFromHandle"));
  CUmemAllocationProp properties{};
  if (query == nullptr || query(&properties, handle) != CUDA_SUCCESS) return false;
  location = properties.location;
  return true;
}

} // namespace gmt::interposer
