// SPDX-License-Identifier: Apache-2.0
// The driver as the runtime sees it: a table of function pointers filled through cuGetProcAddress,
// never linked. Called as driver().cuMemAlloc(...). Two tables: stream 0 is the legacy stream in
// one, the calling thread's own stream in the other; export.h selects by the symbol that was
// called. Invariant: after load_driver() answered success every pointer is set.
#pragma once

#include <cuda.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

namespace gmt::sim {

struct DriverCalls {
#define CALL(name, version) PFN_##name##_v##version name = nullptr;
#define CALL_PER_THREAD(name, version, pt_version) CALL(name, version)
#include "simulated_cuda/runtime/driver_calls.def"
#undef CALL
#undef CALL_PER_THREAD
};

// Opens and initialises the driver once. cudaErrorInsufficientDriver without one, cudaErrorNoDevice
// without devices.
cudaError_t load_driver();

// The table the current call uses. Valid after load_driver().
const DriverCalls& driver();

// What cudaGetDriverEntryPoint hands to programs: the driver's own answer.
CUresult driver_entry_point(const char* name, void** function, int version, cuuint64_t flags,
                            CUdriverProcAddressQueryResult* status);

inline CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

inline cudaError_t to_runtime(CUresult result) { return static_cast<cudaError_t>(result); }

} // namespace gmt::sim
