// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/interposer/recorders/made_up_driver.h"

#include <cstdlib>
#include <cstring>

#include "trace/ring_reader.h"

namespace gmt::interposer {

std::map<std::uint64_t, Kernel> driver_kernels;
std::atomic<unsigned> questions = 0;
std::atomic<std::uint64_t> context_now = 0;
std::map<std::uint64_t, std::uint64_t> variables;
unsigned module_questions = 0, variable_writes = 0;

namespace {

constexpr int kOk = 0, kInvalidValue = 1, kInvalidHandle = 400;

int parameter_of(bool function, std::uint64_t handle, std::size_t index, std::size_t* offset,
                 std::size_t* size) {
  ++questions;
  const auto it = driver_kernels.find(handle);
  if (it == driver_kernels.end() || it->second.is_function != function) return kInvalidHandle;
  if (index >= it->second.parameters.size()) return kInvalidValue;
  *offset = it->second.parameters[index].first;
  *size = it->second.parameters[index].second;
  return kOk;
}
int function_parameter(std::uint64_t handle, std::size_t index, std::size_t* offset,
                       std::size_t* size) {
  return parameter_of(true, handle, index, offset, size);
}
int kernel_parameter(std::uint64_t handle, std::size_t index, std::size_t* offset,
                     std::size_t* size) {
  return parameter_of(false, handle, index, offset, size);
}
int name_of(bool function, const char** name, std::uint64_t handle) {
  const auto it = driver_kernels.find(handle);
  if (it == driver_kernels.end() || it->second.is_function != function) return kInvalidHandle;
  *name = it->second.name.c_str();
  return kOk;
}
int function_name(const char** name, std::uint64_t handle) { return name_of(true, name, handle); }
int kernel_name(const char** name, std::uint64_t handle) { return name_of(false, name, handle); }

int current_context_of_driver(std::uint64_t* context) {
  *context = context_now;
  return kOk;
}
// A CUkernel has a function, and that a module, in each context.
int function_of_kernel(std::uint64_t* function, std::uint64_t kernel) {
  *function = kernel | context_now << 16;
  return kOk;
}
int module_of(std::uint64_t* module, std::uint64_t function) {
  ++module_questions;
  const auto it = driver_kernels.find(function);
  if (it != driver_kernels.end() && !it->second.is_function) return kInvalidHandle;
  *module = function;
  return kOk;
}
int variable_of(std::uint64_t* address, std::size_t* bytes, std::uint64_t module,
                const char* name) {
  const auto it = driver_kernels.find(module & 0xffff);
  if (it == driver_kernels.end() || !it->second.is_instrumented ||
      std::strcmp(name, trace::kControlSymbol) != 0) {
    return kInvalidValue;
  }
  *address = reinterpret_cast<std::uint64_t>(&variables[module]);
  *bytes = sizeof(std::uint64_t);
  return kOk;
}
int copy_to_device(std::uint64_t to, const void* from, std::size_t bytes, std::uint64_t) {
  for (const auto& [module, variable] : variables)
    variable_writes += to == reinterpret_cast<std::uint64_t>(&variable);
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kOk;
}
int allocate(std::uint64_t* address, std::size_t bytes) {
  *address = reinterpret_cast<std::uint64_t>(std::calloc(1, bytes));
  return kOk;
}
int device_pointer(std::uint64_t* on_device, void* on_host, unsigned) {
  *on_device = reinterpret_cast<std::uint64_t>(on_host);
  return kOk;
}
int first_device(int* device) { return *device = 0; }
int make_stream(std::uint64_t* stream, unsigned) {
  *stream = 1;
  return kOk;
}
template <class... Args> int do_nothing(Args...) { return kOk; }
template <class... Args> void* accepts() { return reinterpret_cast<void*>(&do_nothing<Args...>); }

void* find_function(const char* name) noexcept {
  static const std::map<std::string, void*> kFunctions = {
    {"cuFuncGetParamInfo", reinterpret_cast<void*>(&function_parameter)},
    {"cuKernelGetParamInfo", reinterpret_cast<void*>(&kernel_parameter)},
    {"cuFuncGetName", reinterpret_cast<void*>(&function_name)},
    {"cuKernelGetName", reinterpret_cast<void*>(&kernel_name)},
    {"cuCtxGetCurrent", reinterpret_cast<void*>(&current_context_of_driver)},
    {"cuKernelGetFunction", reinterpret_cast<void*>(&function_of_kernel)},
    {"cuFuncGetModule", reinterpret_cast<void*>(&module_of)},
    {"cuModuleGetGlobal_v2", reinterpret_cast<void*>(&variable_of)},
    {"cuMemcpyHtoDAsync_v2", reinterpret_cast<void*>(&copy_to_device)},
    {"cuMemAlloc_v2", reinterpret_cast<void*>(&allocate)},
    {"cuMemHostGetDevicePointer_v2", reinterpret_cast<void*>(&device_pointer)},
    {"cuCtxGetDevice", reinterpret_cast<void*>(&first_device)},
    {"cuStreamCreate", reinterpret_cast<void*>(&make_stream)},
    {"cuThreadExchangeStreamCaptureMode", accepts<int*>()},
    {"cuCtxPushCurrent_v2", accepts<std::uint64_t>()},
    {"cuCtxPopCurrent_v2", accepts<std::uint64_t*>()},
    {"cuDevicePrimaryCtxGetState", accepts<int, unsigned*, int*>()},
    {"cuMemHostRegister_v2", accepts<void*, std::size_t, unsigned>()},
    {"cuMemHostUnregister", accepts<void*>()},
    {"cuMemFree_v2", accepts<std::uint64_t>()},
    {"cuStreamDestroy_v2", accepts<std::uint64_t>()},
    {"cuStreamQuery", accepts<std::uint64_t>()}};
  const auto found = kFunctions.find(name);
  return found != kFunctions.end() ? found->second : nullptr;
}

} // namespace

const DriverLookUp made_up_driver = &find_function;

} // namespace gmt::interposer
