// SPDX-License-Identifier: Apache-2.0
#include "interposer/driver_state/memory_queries.h"

#include <atomic>
#include <cstddef>

#include "interposer/driver_state/asked_size.h"
#include "interposer/loader/driver_function.h"

namespace gmt::interposer {

namespace {

constinit DriverFunction<std::uint64_t*, std::size_t*, std::uint64_t> address_range{
  "cuMemGetAddressRange_v2"};
constinit std::atomic<AskRange> replacement{nullptr};
using VariableQuery = DriverFunction<std::uint64_t*, std::size_t*, std::uint64_t, const char*>;
constinit VariableQuery variable_of_module{"cuModuleGetGlobal_v2"};
constinit VariableQuery variable_of_library{"cuLibraryGetGlobal"};
constinit VariableQuery managed_of_library{"cuLibraryGetManaged"};
constinit DriverFunction<void*, CUpointer_attribute, std::uint64_t> pointer_attribute{
  "cuPointerGetAttribute"};
constinit DriverFunction<CUmemAllocationProp*, std::uint64_t> allocation_properties{
  "cuMemGetAllocationPropertiesFromHandle"};

VariableQuery& query_for(VariableOf owner) noexcept {
  switch (owner) {
  case VariableOf::kModule: return variable_of_module;
  case VariableOf::kLibrary: return variable_of_library;
  case VariableOf::kLibraryManaged: break;
  }
  return managed_of_library;
}

} // namespace

void ask_ranges_by(AskRange function) noexcept { replacement.store(function); }

std::uint64_t ask_bytes(std::uint64_t address) noexcept {
  std::uint64_t base = 0;
  std::size_t bytes = 0;
  const AskRange other = replacement.load();
  const int result =
    other != nullptr ? other(&base, &bytes, address) : address_range(&base, &bytes, address);
  return result == 0 && base == address ? bytes : 0;
}

std::uint64_t ask_bytes_of_variable(VariableOf owner, std::uint64_t module,
                                    const char* name) noexcept {
  std::size_t bytes = 0;
  return query_for(owner)(nullptr, &bytes, module, name) == 0 ? bytes : 0;
}

bool ask_is_managed(std::uint64_t address) noexcept {
  unsigned managed = 0; // cuda.h has it a boolean: the driver may write less than these bytes
  return pointer_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == 0 && managed != 0;
}

bool ask_location(std::uint64_t handle, CUmemLocation& location) noexcept {
  CUmemAllocationProp properties{};
  if (allocation_properties(&properties, handle) != 0) return false;
  location = properties.location;
  return true;
}

} // namespace gmt::interposer
