// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/expected_failures.h"

namespace gmt {
namespace {

struct ExpectedFailure {
  std::string_view call; // beginning of the name
  std::uint16_t code;    // 0: any
};

// Calls that ask a question which "no" is a documented answer to. Sources: cuda.h and
// driver_types.h of CUDA 13.0, the section of each function.
constexpr ExpectedFailure kProbing[] = {
  {"cuPointerGetAttribute", 0},
  {"cudaPointerGetAttributes", 0}, // memory that CUDA does not know
  {"cuMemGetAddressRange", 0},
  {"cuMemHostGetFlags", 0},
  {"cuMemRetainAllocationHandle", 0},
  {"cuCtxGetCurrent", 0},
  {"cuCtxGetDevice", 201},
  {"cuCtxGetApiVersion", 201},
  {"cuCtxGetLimit", 0},
  {"cuDeviceGetP2PAttribute", 0},
  {"cudaDeviceGetP2PAttribute", 0},
  {"cuDeviceCanAccessPeer", 0},
  {"cuDeviceGetAttribute", 0},
  {"cuDeviceGet", 0},
  {"cudaGetDevice", 0},
  {"cuInit", 0},
  {"cuCtxEnablePeerAccess", 704},
  {"cudaDeviceEnablePeerAccess", 704},
  {"cuCtxDisablePeerAccess", 705},
  {"cudaDeviceDisablePeerAccess", 705},
  {"cuGetProcAddress", 0},
  {"cuGetExportTable", 0},
  {"cudaGetDriverEntryPoint", 0},
  {"cuModuleGetFunction", 500},
  {"cuModuleGetGlobal", 500},
  {"cuLibraryGetKernel", 500},
  {"cuLibraryGetGlobal", 500},
  {"cuLibraryGetManaged", 500},
  {"cuKernelGetFunction", 500},
  {"cudaGetSymbolAddress", 13},
  {"cudaLibraryGetGlobal", 500},
  {"cudaLibraryGetManaged", 500},
  {"cuFuncGetAttribute", 0},
  {"cudaFuncGetAttributes", 0},
  {"cuOccupancy", 0},
  {"cuStreamIsCapturing", 0},
  {"cuStreamGetCaptureInfo", 0},
  {"cudaStreamIsCapturing", 0},
  {"cuGraphExecUpdate", 910},
  {"cudaGraphExecUpdate", 910}, // "instantiate it anew" is the answer
  {"cudaGetLastError", 0},
  {"cudaPeekAtLastError", 0},
  {"cuGetErrorName", 0},
  {"cuGetErrorString", 0},
  {"cuMemPoolGetAttribute", 0},
  {"cuMemGetAllocationGranularity", 0},
  {"cuDeviceGetDefaultMemPool", 0},
  {"cuMulticastGetGranularity", 0},
  // Fabric handles: only the call says whether this user has access to an IMEX channel.
  {"cuMemCreate", 800},
  {"cuMemCreate", 801},
  {"cuMemPoolCreate", 800},
  {"cuMemPoolCreate", 801},
  {"cudaMemPoolCreate", 800},
  {"cudaMemPoolCreate", 801},
  {"cuMulticastCreate", 800},
  {"cuMulticastCreate", 801},
  {"cuMemGetHandleForAddressRange", 801},
  {"cuIpcGetMemHandle", 801},
};

} // namespace

bool is_expected_failure(std::string_view name, std::uint16_t code) {
  if (code == 600) return true; // not ready
  if (code == 4) return true;   // too late: the driver is being unloaded
  for (const ExpectedFailure& e : kProbing) {
    if (name.starts_with(e.call) && (e.code == 0 || e.code == code)) return true;
  }
  return false;
}

bool is_checked_call(const Event& e) {
  if (e.in_flight() || e.is_nested || e.kind < EventKind::kAlloc) return false;
  // kFree of the C library's free() has no CUDA result.
  if (e.kind == EventKind::kFree && e.free().function == trace::FreeFunction::kHostFree)
    return false;
  // Another record of the same call, which was checked as a whole.
  return e.kind != EventKind::kUse || !e.use().is_of_recorded_copy;
}

} // namespace gmt
