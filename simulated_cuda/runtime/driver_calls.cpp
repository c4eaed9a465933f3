// SPDX-License-Identifier: Apache-2.0
// Finds the driver exactly as NVIDIA's runtime does: dlopen("libcuda.so.1"),
// dlsym("cuGetProcAddress_v2"), a probe with an empty name, cuGetProcAddress asked for itself, and
// that answer asked for everything else, with version and flags. An interposer that hooks dlsym and
// cuGetProcAddress therefore sees all of it. Invariant: the pointers are taken once per process; a
// failed start is remembered and answered again.
#include "simulated_cuda/runtime/driver_calls.h"

#include "simulated_cuda/runtime/export.h"
#include "simulated_cuda/runtime/registration.h"

#include <dlfcn.h>

#include <mutex>

namespace gmt::sim {
namespace {

constexpr int kSelfVersion = 12000;

DriverCalls legacy_calls;
DriverCalls per_thread_calls;
PFN_cuGetProcAddress_v12000 get_proc_address = nullptr;

template <class Function>
bool find(Function* out, const char* name, int version, cuuint64_t flags) {
  void* address = nullptr;
  if (get_proc_address(name, &address, version, flags, nullptr) != CUDA_SUCCESS ||
      address == nullptr)
    return false;
  *out = reinterpret_cast<Function>(address);
  return true;
}

bool find_all() {
  bool all = true;
#define CALL(name, version)                                                                        \
  all = find(&legacy_calls.name, #name, version, CU_GET_PROC_ADDRESS_DEFAULT) && all;              \
  per_thread_calls.name = legacy_calls.name;
#define CALL_PER_THREAD(name, version, pt_version)                                                 \
  all = find(&legacy_calls.name, #name, version, CU_GET_PROC_ADDRESS_DEFAULT) && all;              \
  all = find(&per_thread_calls.name, #name, pt_version,                                            \
             CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) &&                                     \
        all;
#include "simulated_cuda/runtime/driver_calls.def"
#undef CALL
#undef CALL_PER_THREAD
  return all;
}

cudaError_t start() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return cudaErrorInsufficientDriver;
  get_proc_address =
    reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
  if (get_proc_address == nullptr) return cudaErrorInsufficientDriver;
  void* probe = nullptr;
  if (get_proc_address("", &probe, 0, 0, nullptr) == CUDA_ERROR_STUB_LIBRARY)
    return cudaErrorStubLibrary;
  if (!find(&get_proc_address, "cuGetProcAddress", kSelfVersion, CU_GET_PROC_ADDRESS_DEFAULT) ||
      !find_all())
    return cudaErrorInsufficientDriver;
  int version = 0;
  if (legacy_calls.cuDriverGetVersion(&version) != CUDA_SUCCESS || version < CUDART_VERSION)
    return cudaErrorInsufficientDriver;
  const cudaError_t started = to_runtime(legacy_calls.cuInit(0));
  if (started == cudaSuccess) announce_binaries();
  return started;
}

} // namespace

cudaError_t load_driver() {
  static std::once_flag once;
  static cudaError_t result = cudaErrorInitializationError;
  std::call_once(once, [] { result = start(); });
  return result;
}

const DriverCalls& driver() {
  return this_thread().per_thread_default ? per_thread_calls : legacy_calls;
}

CUresult driver_entry_point(const char* name, void** function, int version, cuuint64_t flags,
                            CUdriverProcAddressQueryResult* status) {
  return get_proc_address(name, function, version, flags, status);
}

} // namespace gmt::sim
