// The one private agreement between the simulated runtime and the simulated driver: a table behind cuGetExportTable.
// The runtime knows names and sizes of variables from the program's registration; the driver cannot read them from a
// compressed image. Tests that play a kernel on the host get at device memory by it. Included by driver/module_api.cpp,
// runtime/registration.cpp and tests/rings.
// Invariant: nobody else has this UUID, so an interposer passes it through like any other export table.
#pragma once

#include <cuda.h>

namespace gmt::sim {

inline constexpr unsigned char kSimulatedRuntimeTable[16] = {'g', 'p', 'u', 'm', 'e', 'm', 't', 'r',
                                                             'a', 'c', 'e', '-', 's', 'i', 'm', '1'};

struct SimulatedRuntimeTable {
  size_t size;
  CUresult (*declare_variable)(CUlibrary library, const char* name, size_t bytes, int managed);
  void* (*host_view)(CUdeviceptr address, size_t bytes);  // null if that is no allocation
};

}  // namespace gmt::sim
